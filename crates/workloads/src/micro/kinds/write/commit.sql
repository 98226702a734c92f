-- does: commits the update of one small row: what a commit costs

-- before:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
INSERT INTO micro_scratch (id, n) VALUES (1, 0);

-- run:
-- expect: changed 1
UPDATE micro_scratch SET n = n + 1 WHERE id = 1;

-- after:
DROP TABLE IF EXISTS micro_scratch;
