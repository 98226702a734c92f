-- does: reads 10 rows in a range of the primary key

-- run:
\set a random(1, :rows - 9)
\set b :a + 9
-- expect: 10 rows
SELECT c FROM sbtest1 WHERE id BETWEEN :a AND :b;
