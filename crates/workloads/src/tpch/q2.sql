-- question
Which supplier of a region sells each part of a size and a type at the lowest cost?
-- answer
ordered number/2 text text number text text text text
-- query
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part
JOIN partsupp ON ps_partkey = p_partkey
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE p_size = {size} AND p_type LIKE '%{type}' AND r_name = '{region}'
  AND ps_supplycost = (
    SELECT MIN(other.ps_supplycost)
    FROM partsupp other
    JOIN supplier seller ON seller.s_suppkey = other.ps_suppkey
    JOIN nation home ON home.n_nationkey = seller.s_nationkey
    JOIN region area ON area.r_regionkey = home.n_regionkey
    WHERE other.ps_partkey = p_partkey AND area.r_name = '{region}')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100
