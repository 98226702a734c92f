-- question
What was earned with parts of a colour, by nation of the supplier and year?
-- answer
ordered text number number/4
-- query mysql postgres
SELECT nation, o_year, SUM(amount) AS sum_profit
FROM (
  SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS o_year,
    l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN partsupp ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN nation ON n_nationkey = s_nationkey
  WHERE p_name LIKE '%{color}%'
) profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC
-- query sqlite
SELECT nation, o_year, SUM(amount) AS sum_profit
FROM (
  SELECT n_name AS nation, CAST(SUBSTR(o_orderdate, 1, 4) AS INTEGER) AS o_year,
    l_extendedprice * (100 - l_discount) - ps_supplycost * l_quantity AS amount
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN partsupp ON ps_suppkey = l_suppkey AND ps_partkey = l_partkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN nation ON n_nationkey = s_nationkey
  WHERE p_name LIKE '%{color}%'
) profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC
