-- does: inserts a row whose key is there, and so updates it

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
INSERT INTO micro_scratch (id, n) SELECT id, 0 FROM micro_detail WHERE id <= 1000;

-- run mysql:
\set id random(1, 1000)
-- expect: changed 1..2
INSERT INTO micro_scratch (id, n) VALUES (:id, 1) ON DUPLICATE KEY UPDATE n = n + 1;

-- run postgres sqlite:
\set id random(1, 1000)
-- expect: changed 1
INSERT INTO micro_scratch (id, n) VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = micro_scratch.n + 1;

-- after:
DROP TABLE IF EXISTS micro_scratch;
