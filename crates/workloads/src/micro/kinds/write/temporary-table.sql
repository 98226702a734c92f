-- does: makes a temporary table of 100 rows, reads and drops it
-- protocol: simple

-- run:
\set a random(1, :rows - 99)
\set b :a + 99
CREATE TEMPORARY TABLE micro_temporary AS SELECT id, k FROM sbtest1 WHERE id BETWEEN :a AND :b;
-- expect: 1 row
SELECT count(*) AS n FROM micro_temporary;
DROP TABLE micro_temporary;
