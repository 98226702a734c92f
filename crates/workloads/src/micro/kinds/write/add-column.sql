-- does: adds a column to a table of 10,000 rows
-- count: 30

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- run:
ALTER TABLE micro_scratch ADD COLUMN more INTEGER;

-- undo:
ALTER TABLE micro_scratch DROP COLUMN more;

-- after:
DROP TABLE IF EXISTS micro_scratch;
