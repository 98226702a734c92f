-- does: counts the rows of 10 random ranges of a secondary key
-- sysbench: select_random_ranges

-- run:
[[10: \set a# random(1, :rows - 5)]]
[[10: \set b# :a# + 5]]
-- expect: 1 row
SELECT count(k) AS n FROM sbtest1 WHERE [[10: k BETWEEN :a# AND :b#| OR ]];
