-- does: sorts 100 rows without an index for the order
-- sysbench: oltp_read_only, order ranges

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: 100 rows
SELECT c FROM sbtest1 WHERE id BETWEEN :a AND :b ORDER BY c;
