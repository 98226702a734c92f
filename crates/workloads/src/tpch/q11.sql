-- question
Which parts are most of the stock of a nation's suppliers?
-- answer
any number number/2
-- query
SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS stock_value
FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}'
GROUP BY ps_partkey
HAVING SUM(ps_supplycost * ps_availqty) > (
  SELECT SUM(ps_supplycost * ps_availqty) * {fraction}
  FROM partsupp
  JOIN supplier ON s_suppkey = ps_suppkey
  JOIN nation ON n_nationkey = s_nationkey
  WHERE n_name = '{nation}')
ORDER BY stock_value DESC
