-- question
Which ten orders that were not shipped at a day are worth most, of customers of a segment?
-- answer
ordered number number/4 text number
-- query mysql postgres
SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = '{segment}' AND o_orderdate < '{date}' AND l_shipdate > '{date}'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate, l_orderkey
LIMIT 10
-- query sqlite
SELECT l_orderkey, SUM(l_extendedprice * (100 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = '{segment}' AND o_orderdate < '{date}' AND l_shipdate > '{date}'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate, l_orderkey
LIMIT 10
