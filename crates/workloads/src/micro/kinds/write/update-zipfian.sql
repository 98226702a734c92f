-- does: updates an indexed column of one row, some rows far more often than others

-- run:
\set id 1 + permute(random_zipfian(1, :rows, 1.1) - 1, :rows)
-- expect: changed 1
UPDATE sbtest2 SET k = k + 1 WHERE id = :id;
