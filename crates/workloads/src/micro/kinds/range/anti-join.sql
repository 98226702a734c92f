-- does: of 1,000 rows the 500 that have no partner (NOT EXISTS)

-- run:
\set a random(1, :rows - 999)
\set b :a + 999
-- expect: 500 rows
SELECT s.id FROM sbtest1 s
WHERE s.id BETWEEN :a AND :b AND NOT EXISTS (SELECT 1 FROM micro_detail d WHERE d.parent = s.id);
