-- does: reads 1,000 keys out of a secondary index alone

-- run:
\set a random(0, :rows - 1000)
\set b :a + 999
-- expect: 1000 rows
SELECT place FROM micro_detail WHERE place BETWEEN :a AND :b;
