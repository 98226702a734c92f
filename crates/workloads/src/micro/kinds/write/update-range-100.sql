-- does: updates 100 rows in a range of the primary key

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: changed 100
UPDATE sbtest2 SET k = k + 1 WHERE id BETWEEN :a AND :b;
