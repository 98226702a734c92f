-- does: reads 10,000 rows in a range of a secondary key, scattered over the table

-- run:
\set a random(0, :rows - 10000)
\set b :a + 9999
-- expect: 10000 rows
SELECT id, amount FROM micro_detail WHERE place BETWEEN :a AND :b;
