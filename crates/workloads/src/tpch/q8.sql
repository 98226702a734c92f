-- question
What share of a region's market did a nation have with parts of a type, by year?
-- answer
ordered number number
-- query mysql postgres
SELECT o_year, SUM(CASE WHEN nation = '{nation}' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
FROM (
  SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, seller.n_name AS nation
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation buyer ON buyer.n_nationkey = c_nationkey
  JOIN region ON r_regionkey = buyer.n_regionkey
  JOIN nation seller ON seller.n_nationkey = s_nationkey
  WHERE r_name = '{region}' AND p_type = '{type}' AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
) all_nations
GROUP BY o_year
ORDER BY o_year
-- query sqlite
SELECT o_year, 1.0 * SUM(CASE WHEN nation = '{nation}' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
FROM (
  SELECT CAST(SUBSTR(o_orderdate, 1, 4) AS INTEGER) AS o_year, l_extendedprice * (100 - l_discount) AS volume, seller.n_name AS nation
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation buyer ON buyer.n_nationkey = c_nationkey
  JOIN region ON r_regionkey = buyer.n_regionkey
  JOIN nation seller ON seller.n_nationkey = s_nationkey
  WHERE r_name = '{region}' AND p_type = '{type}' AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
) all_nations
GROUP BY o_year
ORDER BY o_year
