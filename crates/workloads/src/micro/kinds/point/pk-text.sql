-- does: reads one row by its primary key, sent as text
-- protocol: simple

-- run:
\set id random(1, :rows)
-- expect: 1 row
SELECT c FROM sbtest1 WHERE id = :id;
