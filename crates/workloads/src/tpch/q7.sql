-- question
What did two nations ship to each other, by year?
-- answer
ordered text text number number/4
-- query mysql postgres
SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
FROM (
  SELECT seller.n_name AS supp_nation, buyer.n_name AS cust_nation,
    EXTRACT(YEAR FROM l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume
  FROM supplier
  JOIN lineitem ON l_suppkey = s_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation seller ON seller.n_nationkey = s_nationkey
  JOIN nation buyer ON buyer.n_nationkey = c_nationkey
  WHERE (seller.n_name = '{nation1}' AND buyer.n_name = '{nation2}'
      OR seller.n_name = '{nation2}' AND buyer.n_name = '{nation1}')
    AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31'
) shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year
-- query sqlite
SELECT supp_nation, cust_nation, l_year, SUM(volume) AS revenue
FROM (
  SELECT seller.n_name AS supp_nation, buyer.n_name AS cust_nation,
    CAST(SUBSTR(l_shipdate, 1, 4) AS INTEGER) AS l_year, l_extendedprice * (100 - l_discount) AS volume
  FROM supplier
  JOIN lineitem ON l_suppkey = s_suppkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation seller ON seller.n_nationkey = s_nationkey
  JOIN nation buyer ON buyer.n_nationkey = c_nationkey
  WHERE (seller.n_name = '{nation1}' AND buyer.n_name = '{nation2}'
      OR seller.n_name = '{nation2}' AND buyer.n_name = '{nation1}')
    AND l_shipdate BETWEEN '1995-01-01' AND '1996-12-31'
) shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year
