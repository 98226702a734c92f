-- does: reads the whole table for 1 row: no index for the filter

-- run:
\set x random(1, :rows)
-- expect: 1 row
SELECT id FROM micro_detail WHERE amount = :x;
