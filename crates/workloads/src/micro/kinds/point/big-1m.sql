-- does: reads one value of 1 MiB

-- before:
CREATE TABLE micro_scratch ({id}, body {text});
INSERT INTO micro_scratch (body) VALUES ('[[text 1048576]]');

-- run:
-- expect: 1 row
SELECT body FROM micro_scratch WHERE id = 1;

-- after:
DROP TABLE IF EXISTS micro_scratch;
