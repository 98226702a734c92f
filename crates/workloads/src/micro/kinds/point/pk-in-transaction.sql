-- does: BEGIN, one row by its primary key, COMMIT

-- run:
\set id random(1, :rows)
BEGIN;
-- expect: 1 row
SELECT c FROM sbtest1 WHERE id = :id;
COMMIT;
