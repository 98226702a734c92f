-- question
How many suppliers without complaints sell parts that are of some sizes, and not of a brand and a type?
-- answer
ordered text text number number
-- query
SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp
JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> '{brand}' AND p_type NOT LIKE '{type}%' AND p_size IN ({sizes})
  AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size
