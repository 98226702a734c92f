-- does: makes an index on 10,000 rows
-- count: 10

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
INSERT INTO micro_scratch (id, k, c, pad) SELECT id, k, c, pad FROM sbtest1 WHERE id <= 10000;

-- run:
CREATE INDEX micro_scratch_k ON micro_scratch (k);

-- undo mysql:
DROP INDEX micro_scratch_k ON micro_scratch;

-- undo postgres sqlite:
DROP INDEX micro_scratch_k;

-- after:
DROP TABLE IF EXISTS micro_scratch;
