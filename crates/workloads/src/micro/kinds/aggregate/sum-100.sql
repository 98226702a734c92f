-- does: sums a column of 100 rows in a range of the primary key
-- sysbench: oltp_read_only, sum ranges

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: 1 row
SELECT SUM(k) AS s FROM sbtest1 WHERE id BETWEEN :a AND :b;
