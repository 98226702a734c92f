-- does: joins 1,000 rows of one table with 1,000 of another by a secondary key

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 1000 rows
SELECT s.k, d.amount FROM sbtest1 s JOIN micro_detail d ON d.parent = s.id WHERE s.id BETWEEN :a AND :b;
