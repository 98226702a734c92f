-- does: reads 1,000 rows in a range of the primary key

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 1000 rows
SELECT c FROM sbtest1 WHERE id BETWEEN :a AND :b;
