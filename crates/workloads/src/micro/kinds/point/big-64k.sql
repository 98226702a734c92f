-- does: reads one value of 64 KiB

-- before:
CREATE TABLE micro_scratch ({id}, body {text});
INSERT INTO micro_scratch (body) VALUES ('[[text 65536]]');

-- run:
-- expect: 1 row
SELECT body FROM micro_scratch WHERE id = 1;

-- after:
DROP TABLE IF EXISTS micro_scratch;
