-- does: groups 2,000 JSON documents by a value at a path

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
-- expect: 10 rows
SELECT JSON_EXTRACT(doc, '$.b') AS b, count(*) AS n, SUM(JSON_EXTRACT(doc, '$.a')) AS s
FROM micro_scratch GROUP BY JSON_EXTRACT(doc, '$.b');

-- run postgres:
-- expect: 10 rows
SELECT doc->>'b' AS b, count(*) AS n, SUM((doc->>'a')::integer) AS s FROM micro_scratch GROUP BY doc->>'b';

-- after:
DROP TABLE IF EXISTS micro_scratch;
