-- does: reads the same row each time

-- run:
\set id :rows / 2
-- expect: 1 row
SELECT c FROM sbtest1 WHERE id = :id;
