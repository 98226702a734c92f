-- does: 100 rows whose indexed text begins with a prefix
-- protocol: simple

-- run:
-- expect: 100 rows
SELECT id, amount FROM micro_detail WHERE name LIKE 'item-000012%';
