-- does: a transaction of two updates, a delete and an insert
-- sysbench: oltp_write_only

-- run mysql:
\set u random(1, :rows)
\set id random(1, :rows)
\set k random(1, :rows)
\set n random(100000000, 999999999)
BEGIN;
-- expect: changed 1
UPDATE sbtest2 SET k = k + 1 WHERE id = :u;
-- expect: changed 1
UPDATE sbtest2 SET c = CONCAT('[[digits 110]]', :n) WHERE id = :id;
-- expect: changed 1
DELETE FROM sbtest2 WHERE id = :id;
-- expect: changed 1
INSERT INTO sbtest2 (id, k, c, pad) VALUES (:id, :k, '[[digits 119]]', '[[digits 59]]');
COMMIT;

-- run postgres sqlite:
\set u random(1, :rows)
\set id random(1, :rows)
\set k random(1, :rows)
\set n random(100000000, 999999999)
BEGIN;
-- expect: changed 1
UPDATE sbtest2 SET k = k + 1 WHERE id = :u;
-- expect: changed 1
UPDATE sbtest2 SET c = '[[digits 110]]' || CAST(:n AS INTEGER) WHERE id = :id;
-- expect: changed 1
DELETE FROM sbtest2 WHERE id = :id;
-- expect: changed 1
INSERT INTO sbtest2 (id, k, c, pad) VALUES (:id, :k, '[[digits 119]]', '[[digits 59]]');
COMMIT;
