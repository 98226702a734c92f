-- does: deletes one row and inserts it again, in a transaction
-- sysbench: oltp_write_only, delete and insert

-- run:
\set id random(1, :rows)
\set k random(1, :rows)
BEGIN;
-- expect: changed 1
DELETE FROM sbtest2 WHERE id = :id;
-- expect: changed 1
INSERT INTO sbtest2 (id, k, c, pad) VALUES (:id, :k, '[[digits 119]]', '[[digits 59]]');
COMMIT;
