-- question
What did suppliers sell to customers of their own nation in a year, by nation of a region?
-- answer
any text number/4
-- query mysql postgres
SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE r_name = '{region}' AND o_orderdate >= '{date}' AND o_orderdate < '{date_end}'
GROUP BY n_name
ORDER BY revenue DESC
-- query sqlite
SELECT n_name, SUM(l_extendedprice * (100 - l_discount)) AS revenue
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE r_name = '{region}' AND o_orderdate >= '{date}' AND o_orderdate < '{date_end}'
GROUP BY n_name
ORDER BY revenue DESC
