-- does: reads one row by a secondary key, with a column that is not in the index

-- run:
\set place random(0, :rows - 1)
-- expect: 1 row
SELECT id, amount FROM micro_detail WHERE place = :place;
