-- question
How much more would small lines of a year have brought without their discounts?
-- answer
ordered number/4
-- query mysql postgres
SELECT SUM(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  AND l_discount BETWEEN {low} AND {high} AND l_quantity < {quantity}
-- query sqlite
SELECT SUM(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
  AND l_discount BETWEEN {low_percent} AND {high_percent} AND l_quantity < {quantity}00
