-- does: the next 100 rows in the order of a secondary index

-- run:
\set a random(0, :rows - 100)
-- expect: 100 rows
SELECT id, amount FROM micro_detail WHERE place >= :a ORDER BY place LIMIT 100;
