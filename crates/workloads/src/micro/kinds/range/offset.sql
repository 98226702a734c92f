-- does: 10 rows behind an offset of half the table

-- run:
\set skip :rows / 2 + random(0, 100)
-- expect: 10 rows
SELECT id, k FROM sbtest1 ORDER BY id LIMIT 10 OFFSET :skip;
