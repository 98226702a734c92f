-- question
Which suppliers of a nation have more of some part in stock than half of what they shipped of it in a year?
-- answer
ordered text text
-- query mysql postgres
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}' AND s_suppkey IN (
  SELECT ps_suppkey
  FROM partsupp
  WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{color}%')
    AND ps_availqty > (
      SELECT 0.5 * SUM(l_quantity)
      FROM lineitem
      WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
        AND l_shipdate >= '{date}' AND l_shipdate < '{date_end}'))
ORDER BY s_name
-- query sqlite
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}' AND s_suppkey IN (
  SELECT ps_suppkey
  FROM partsupp
  WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{color}%')
    AND ps_availqty * 200 > (
      SELECT SUM(l_quantity)
      FROM lineitem
      WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
        AND l_shipdate >= '{date}' AND l_shipdate < '{date_end}'))
ORDER BY s_name
