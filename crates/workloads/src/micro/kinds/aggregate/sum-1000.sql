-- does: sums a column of 1,000 rows in a range of the primary key

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
\set sum 1000 * :a + 499500
-- expect: value :sum
SELECT SUM(amount) AS s FROM micro_detail WHERE id BETWEEN :a AND :b;
