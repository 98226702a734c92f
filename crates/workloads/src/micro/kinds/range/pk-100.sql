-- does: reads 100 rows in a range of the primary key
-- sysbench: oltp_read_only, simple ranges

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: 100 rows
SELECT c FROM sbtest1 WHERE id BETWEEN :a AND :b;
