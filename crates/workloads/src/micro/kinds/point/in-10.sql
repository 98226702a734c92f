-- does: reads 10 rows by a list of primary keys

-- run:
[[10: \set id# (# - 1) * (:rows / 10) + random(1, :rows / 10)]]
-- expect: 10 rows
SELECT id, k FROM sbtest1 WHERE id IN ([[10: :id#]]);
