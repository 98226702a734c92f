-- question
What share of a month's revenue came from promoted parts, in percent?
-- answer
ordered number
-- query mysql postgres
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
-- query sqlite
SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (100 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (100 - l_discount)) AS promo_revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= '{date}' AND l_shipdate < '{date_end}'
