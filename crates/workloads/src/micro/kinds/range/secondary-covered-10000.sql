-- does: reads 10,000 keys out of a secondary index alone

-- run:
\set a random(0, :rows - 10000)
\set b :a + 9999
-- expect: 10000 rows
SELECT place FROM micro_detail WHERE place BETWEEN :a AND :b;
