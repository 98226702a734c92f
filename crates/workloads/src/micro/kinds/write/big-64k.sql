-- does: inserts one value of 64 KiB, sent as text
-- count: 500
-- protocol: simple

-- before:
CREATE TABLE micro_scratch ({id}, body {text});

-- run:
-- expect: changed 1
INSERT INTO micro_scratch (body) VALUES ('[[text 65536]]');

-- after:
DROP TABLE IF EXISTS micro_scratch;
