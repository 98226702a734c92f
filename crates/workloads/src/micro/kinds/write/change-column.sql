-- does: changes the type of a column of 10,000 rows, which writes them anew
-- count: 8
-- not sqlite: it cannot change the type of a column

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- run mysql:
ALTER TABLE micro_scratch MODIFY COLUMN k BIGINT NOT NULL;

-- run postgres:
ALTER TABLE micro_scratch ALTER COLUMN k TYPE BIGINT;

-- undo mysql:
ALTER TABLE micro_scratch MODIFY COLUMN k INTEGER NOT NULL;

-- undo postgres:
ALTER TABLE micro_scratch ALTER COLUMN k TYPE INTEGER;

-- after:
DROP TABLE IF EXISTS micro_scratch;
