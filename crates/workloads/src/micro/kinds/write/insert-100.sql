-- does: inserts 100 rows in one statement, sent as text
-- protocol: simple

-- before:
CREATE TABLE micro_scratch ({id}, a INTEGER NOT NULL, b INTEGER NOT NULL, d INTEGER NOT NULL,
  e INTEGER NOT NULL, f INTEGER NOT NULL, c CHAR(120) NOT NULL);
CREATE INDEX micro_scratch_a ON micro_scratch (a);

-- run:
[[100: \set a# random(1, :rows)]]
-- expect: changed 100
INSERT INTO micro_scratch (a, b, d, e, f, c) VALUES [[100: (:a#, #, #, #, #, '[[digits 119]]')]];

-- after:
DROP TABLE IF EXISTS micro_scratch;
