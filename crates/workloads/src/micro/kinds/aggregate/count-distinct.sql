-- does: counts the distinct values of a column of the whole table

-- run:
\set n (:rows + 3) / 4
-- expect: value :n
SELECT count(DISTINCT many) AS n FROM micro_detail;
