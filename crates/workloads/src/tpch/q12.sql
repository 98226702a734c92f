-- question
How many lines came late by each of two ways of shipping, of urgent orders and of others?
-- answer
ordered text number number
-- query
SELECT l_shipmode,
  SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
  SUM(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low_line_count
FROM orders
JOIN lineitem ON l_orderkey = o_orderkey
WHERE l_shipmode IN ('{mode1}', '{mode2}')
  AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
  AND l_receiptdate >= '{date}' AND l_receiptdate < '{date_end}'
GROUP BY l_shipmode
ORDER BY l_shipmode
