-- question
How many orders of a quarter came late in some line, by priority?
-- answer
ordered text number
-- query
SELECT o_orderpriority, COUNT(*) AS order_count
FROM orders
WHERE o_orderdate >= '{date}' AND o_orderdate < '{date_end}'
  AND EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority
ORDER BY o_orderpriority
