-- does: reads the whole table for the 10 rows that contain a text

-- run:
-- expect: 10 rows
SELECT id FROM micro_detail WHERE name LIKE '%-0000123%';
