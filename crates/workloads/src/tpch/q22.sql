-- question
Which customers with money and without orders are there, by country code?
-- answer
ordered text number number/2
-- query
SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal
FROM (
  SELECT SUBSTR(c_phone, 1, 2) AS cntrycode, c_acctbal
  FROM customer
  WHERE SUBSTR(c_phone, 1, 2) IN ({codes})
    AND c_acctbal > (
      SELECT AVG(rich.c_acctbal) FROM customer rich
      WHERE rich.c_acctbal > 0 AND SUBSTR(rich.c_phone, 1, 2) IN ({codes}))
    AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
) custsale
GROUP BY cntrycode
ORDER BY cntrycode
