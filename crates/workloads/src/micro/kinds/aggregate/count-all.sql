-- does: counts the rows of the table

-- run:
-- expect: value :rows
SELECT count(*) AS n FROM sbtest1;
