-- does: a correlated subquery for each of 100 rows

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
-- expect: 100 rows
SELECT s.id, (SELECT MAX(d.amount) FROM micro_detail d WHERE d.parent = s.id) AS most
FROM sbtest1 s WHERE s.id BETWEEN :a AND :b;
