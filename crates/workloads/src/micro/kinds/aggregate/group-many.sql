-- does: groups 10,000 rows into 2,500 groups

-- run:
\set a 1 + 4 * random(0, (:rows - 10000) / 4)
\set b :a + 9999
-- expect: 2500 rows
SELECT many, count(*) AS n, SUM(amount) AS s FROM micro_detail WHERE id BETWEEN :a AND :b GROUP BY many;
