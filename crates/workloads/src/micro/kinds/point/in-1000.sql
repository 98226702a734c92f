-- does: reads 1000 rows by a list of primary keys, sent as text
-- protocol: simple

-- run:
[[1000: \set id# (# - 1) * (:rows / 1000) + random(1, :rows / 1000)]]
-- expect: 1000 rows
SELECT id, k FROM sbtest1 WHERE id IN ([[1000: :id#]]);
