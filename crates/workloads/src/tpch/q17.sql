-- question
What would be lost a year without small orders of parts of a brand and a container?
-- answer
ordered number/2
-- query mysql postgres
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE p_brand = '{brand}' AND p_container = '{container}'
  AND l_quantity < (SELECT 0.2 * AVG(other.l_quantity) FROM lineitem other WHERE other.l_partkey = p_partkey)
-- query sqlite
SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE p_brand = '{brand}' AND p_container = '{container}'
  AND l_quantity < (SELECT AVG(other.l_quantity) / 5 FROM lineitem other WHERE other.l_partkey = p_partkey)
