-- question
Which suppliers of a nation alone kept orders waiting that had several suppliers?
-- answer
ordered text number
-- query
SELECT s_name, COUNT(*) AS numwait
FROM supplier
JOIN lineitem late ON late.l_suppkey = s_suppkey
JOIN orders ON o_orderkey = late.l_orderkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}' AND o_orderstatus = 'F' AND late.l_receiptdate > late.l_commitdate
  AND EXISTS (
    SELECT 1 FROM lineitem other
    WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey)
  AND NOT EXISTS (
    SELECT 1 FROM lineitem third
    WHERE third.l_orderkey = late.l_orderkey AND third.l_suppkey <> late.l_suppkey
      AND third.l_receiptdate > third.l_commitdate)
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100
