-- does: joins 10 rows of one table with 10 of another by a secondary key

-- run:
\set a random(1, :rows - 9)
\set b :a + 9
-- expect: 10 rows
SELECT s.k, d.amount FROM sbtest1 s JOIN micro_detail d ON d.parent = s.id WHERE s.id BETWEEN :a AND :b;
