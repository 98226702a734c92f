-- does: groups a join of 1,000 rows with 1,000 others into 10 groups

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 10 rows
SELECT d.few, count(*) AS n, MAX(s.k) AS most FROM sbtest1 s JOIN micro_detail d ON d.parent = s.id
WHERE s.id BETWEEN :a AND :b GROUP BY d.few;
