-- does: inserts one row into a table with 2 secondary indexes

-- before:
CREATE TABLE micro_scratch ({id}, a INTEGER NOT NULL, b INTEGER NOT NULL, d INTEGER NOT NULL,
  e INTEGER NOT NULL, f INTEGER NOT NULL, c CHAR(120) NOT NULL);
CREATE INDEX micro_scratch_a ON micro_scratch (a);
CREATE INDEX micro_scratch_b ON micro_scratch (b);

-- run:
\set a random(1, :rows)
\set b random(1, :rows)
\set d random(1, :rows)
\set e random(1, :rows)
\set f random(1, :rows)
-- expect: changed 1
INSERT INTO micro_scratch (a, b, d, e, f, c) VALUES (:a, :b, :d, :e, :f, '[[digits 119]]');

-- after:
DROP TABLE IF EXISTS micro_scratch;
