-- does: reads one key out of a secondary index alone

-- run:
\set place random(0, :rows - 1)
-- expect: 1 row
SELECT place FROM micro_detail WHERE place = :place;
