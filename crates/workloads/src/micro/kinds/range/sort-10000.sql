-- does: sorts 10,000 rows without an index for the order

-- run:
\set a random(1, :rows - 9999)
\set b :a + 9999
-- expect: 10000 rows
SELECT c FROM sbtest1 WHERE id BETWEEN :a AND :b ORDER BY c;
