-- does: updates an indexed column of the same row each time

-- run:
\set id :rows / 2
-- expect: changed 1
UPDATE sbtest2 SET k = k + 1 WHERE id = :id;
