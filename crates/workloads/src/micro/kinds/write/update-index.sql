-- does: updates an indexed column of one row
-- sysbench: oltp_update_index

-- run:
\set id random(1, :rows)
-- expect: changed 1
UPDATE sbtest2 SET k = k + 1 WHERE id = :id;
