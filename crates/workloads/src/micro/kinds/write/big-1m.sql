-- does: inserts one value of 1 MiB, sent as text
-- count: 50
-- protocol: simple

-- before:
CREATE TABLE micro_scratch ({id}, body {text});

-- run:
-- expect: changed 1
INSERT INTO micro_scratch (body) VALUES ('[[text 1048576]]');

-- after:
DROP TABLE IF EXISTS micro_scratch;
