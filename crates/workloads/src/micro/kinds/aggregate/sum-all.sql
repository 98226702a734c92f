-- does: sums a column of the whole table

-- run:
\set sum :rows * (:rows + 1) / 2
-- expect: value :sum
SELECT SUM(amount) AS s FROM micro_detail;
