-- does: copies 10,000 rows from one table into another
-- count: 10

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);

-- run:
-- expect: changed 10000
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- undo:
{truncate} micro_scratch;

-- after:
DROP TABLE IF EXISTS micro_scratch;
