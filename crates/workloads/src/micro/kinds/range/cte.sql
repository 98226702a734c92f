-- does: joins a common table expression of 1,000 rows with a table

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 1000 rows
WITH part AS (SELECT id, k FROM sbtest1 WHERE id BETWEEN :a AND :b)
SELECT part.k, d.amount FROM part JOIN micro_detail d ON d.parent = part.id;
