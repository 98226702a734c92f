-- does: reads 10 rows in a range of a secondary key, scattered over the table

-- run:
\set a random(0, :rows - 10)
\set b :a + 9
-- expect: 10 rows
SELECT id, amount FROM micro_detail WHERE place BETWEEN :a AND :b;
