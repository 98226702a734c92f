-- does: of 2,000 JSON documents the 200 that have a value at a path

-- before mysql:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, doc JSON);
INSERT INTO micro_scratch (id, doc)
SELECT id, CONCAT('{"a": ', amount, ', "b": ', few, ', "tags": ["red", "green"], "name": "', name, '"}')
FROM micro_detail WHERE id <= 2000;

-- before postgres:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, doc JSONB);
INSERT INTO micro_scratch (id, doc)
SELECT id, ('{"a": ' || amount || ', "b": ' || few || ', "tags": ["red", "green"], "name": "' || name || '"}')::jsonb
FROM micro_detail WHERE id <= 2000;

-- before sqlite:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, doc TEXT);
INSERT INTO micro_scratch (id, doc)
SELECT id, '{"a": ' || amount || ', "b": ' || few || ', "tags": ["red", "green"], "name": "' || name || '"}'
FROM micro_detail WHERE id <= 2000;

-- run mysql sqlite:
\set b random(0, 9)
-- expect: 200 rows
SELECT id FROM micro_scratch WHERE JSON_EXTRACT(doc, '$.b') = :b;

-- run postgres:
\set b random(0, 9)
-- expect: 200 rows
SELECT id FROM micro_scratch WHERE (doc->>'b')::integer = :b;

-- after:
DROP TABLE IF EXISTS micro_scratch;
