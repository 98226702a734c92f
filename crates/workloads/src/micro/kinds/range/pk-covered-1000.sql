-- does: reads 1,000 primary keys and no other column

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 1000 rows
SELECT id FROM sbtest1 WHERE id BETWEEN :a AND :b;
