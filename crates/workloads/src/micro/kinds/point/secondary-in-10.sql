-- does: reads the rows of 10 random secondary keys
-- sysbench: select_random_points

-- run:
[[10: \set k# random(1, :rows)]]
-- expect: 0..200 rows
SELECT id, k, c, pad FROM sbtest1 WHERE k IN ([[10: :k#]]);
