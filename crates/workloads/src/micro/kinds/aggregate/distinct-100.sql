-- does: sorts the distinct values of 100 rows
-- sysbench: oltp_read_only, distinct ranges

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: 100 rows
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :a AND :b ORDER BY c;
