-- does: reads one row by its primary key
-- sysbench: oltp_point_select

-- run:
\set id random(1, :rows)
-- expect: 1 row
SELECT c FROM sbtest1 WHERE id = :id;
