-- does: reads 1,000 rows in a range of a secondary key, scattered over the table

-- run:
\set a random(0, :rows - 1000)
\set b :a + 999
-- expect: 1000 rows
SELECT id, amount FROM micro_detail WHERE place BETWEEN :a AND :b;
