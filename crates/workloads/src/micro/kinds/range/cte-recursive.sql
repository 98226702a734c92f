-- does: a recursive common table expression of 500 steps, each with a row by its primary key

-- run:
\set a random(0, :rows - 500)
-- expect: 500 rows
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
SELECT s.k FROM n JOIN sbtest1 s ON s.id = n.i + :a;
