-- does: looks for a primary key that is not there

-- run:
\set id :rows + random(1, :rows)
-- expect: 0 rows
SELECT c FROM sbtest1 WHERE id = :id;
