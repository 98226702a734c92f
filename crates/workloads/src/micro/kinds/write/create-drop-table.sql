-- does: makes an empty table with an index and drops it
-- protocol: simple

-- run:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
CREATE INDEX micro_scratch_k ON micro_scratch (k);
DROP TABLE micro_scratch;

-- after:
DROP TABLE IF EXISTS micro_scratch;
