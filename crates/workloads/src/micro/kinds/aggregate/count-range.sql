-- does: counts 1,000 rows in a range of a secondary key

-- run:
\set a random(0, :rows - 1000)
\set b :a + 999
\set n 1000
-- expect: value :n
SELECT count(*) AS n FROM micro_detail WHERE place BETWEEN :a AND :b;
