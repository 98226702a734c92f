-- does: deletes 100 rows in a range and inserts them again from another table, in a transaction

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
BEGIN;
-- expect: changed 100
DELETE FROM sbtest2 WHERE id BETWEEN :a AND :b;
-- expect: changed 100
INSERT INTO sbtest2 (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN :a AND :b;
COMMIT;
