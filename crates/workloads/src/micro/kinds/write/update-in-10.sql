-- does: updates 10 rows by a list of primary keys

-- run:
[[10: \set id# (# - 1) * (:rows / 10) + random(1, :rows / 10)]]
-- expect: changed 10
UPDATE sbtest2 SET k = k + 1 WHERE id IN ([[10: :id#]]);
