-- does: reads 100 rows in a range of a secondary key, scattered over the table

-- run:
\set a random(0, :rows - 100)
\set b :a + 99
-- expect: 100 rows
SELECT id, amount FROM micro_detail WHERE place BETWEEN :a AND :b;
