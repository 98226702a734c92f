-- question
Which supplier brought the most revenue in a quarter?
-- answer
ordered number text text text number/4
-- query mysql
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN (
  SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
  FROM lineitem
  WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  GROUP BY l_suppkey
) revenue ON supplier_no = s_suppkey
WHERE total_revenue = (
  SELECT MAX(best.total_revenue)
  FROM (
  SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
  FROM lineitem
  WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  GROUP BY l_suppkey
  ) best)
ORDER BY s_suppkey
-- query postgres
WITH revenue AS (
  SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
  FROM lineitem
  WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN revenue ON supplier_no = s_suppkey
WHERE total_revenue = (SELECT MAX(total_revenue) FROM revenue)
ORDER BY s_suppkey
-- query sqlite
WITH revenue AS (
  SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (100 - l_discount)) AS total_revenue
  FROM lineitem
  WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN revenue ON supplier_no = s_suppkey
WHERE total_revenue = (SELECT MAX(total_revenue) FROM revenue)
ORDER BY s_suppkey
