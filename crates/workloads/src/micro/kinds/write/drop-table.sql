-- does: drops a table of 10,000 rows
-- count: 5
-- protocol: simple

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- run:
DROP TABLE micro_scratch;

-- undo:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- after:
DROP TABLE IF EXISTS micro_scratch;
