-- does: the rows whose keys a subquery over 100 others brings

-- run:
\set a random(0, :rows - 100)
\set b :a + 99
-- expect: 40..100 rows
SELECT s.id, s.k FROM sbtest1 s
WHERE s.id IN (SELECT d.parent FROM micro_detail d WHERE d.place BETWEEN :a AND :b);
