-- does: reads 100 rows by a list of primary keys, sent as text
-- protocol: simple

-- run:
[[100: \set id# (# - 1) * (:rows / 100) + random(1, :rows / 100)]]
-- expect: 100 rows
SELECT id, k FROM sbtest1 WHERE id IN ([[100: :id#]]);
