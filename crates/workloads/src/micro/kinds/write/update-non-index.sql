-- does: updates a column of one row that is in no index
-- sysbench: oltp_update_non_index

-- run mysql:
\set id random(1, :rows)
\set n random(100000000, 999999999)
-- expect: changed 1
UPDATE sbtest2 SET c = CONCAT('[[digits 110]]', :n) WHERE id = :id;

-- run postgres sqlite:
\set id random(1, :rows)
\set n random(100000000, 999999999)
-- expect: changed 1
UPDATE sbtest2 SET c = '[[digits 110]]' || CAST(:n AS INTEGER) WHERE id = :id;
