-- does: the first 10 of 10,000 rows in an order without an index

-- run:
\set a random(1, :rows - 9999)
\set b :a + 9999
-- expect: 10 rows
SELECT id, c FROM sbtest1 WHERE id BETWEEN :a AND :b ORDER BY c LIMIT 10;
