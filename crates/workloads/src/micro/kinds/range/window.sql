-- does: a running sum over 1,000 rows in 10 partitions (window function)

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 1000 rows
SELECT id, SUM(amount) OVER (PARTITION BY few ORDER BY id) AS so_far FROM micro_detail WHERE id BETWEEN :a AND :b;
