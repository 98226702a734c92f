-- does: of 1,000 rows the 500 that have a partner (EXISTS)

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 500 rows
SELECT s.id FROM sbtest1 s
WHERE s.id BETWEEN :a AND :b AND EXISTS (SELECT 1 FROM micro_detail d WHERE d.parent = s.id);
