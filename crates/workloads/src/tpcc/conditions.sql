-- warehouses
SELECT w, SUM(districts) AS condition_1, SUM(payments) AS condition_8
FROM (SELECT w_id AS w, w_ytd AS districts, w_ytd AS payments FROM warehouse
  UNION ALL SELECT d_w_id, -d_ytd, 0 FROM district
  UNION ALL SELECT h_w_id, 0, -SUM(h_amount) FROM history GROUP BY h_w_id) u
GROUP BY w
HAVING SUM(districts) <> 0 OR SUM(payments) <> 0
-- districts
SELECT w, d,
  CASE WHEN MAX(last_id) = MAX(last_order) AND MAX(last_new) IN (0, MAX(last_id)) THEN 0 ELSE 1 END AS condition_2,
  SUM(hole) AS condition_3, SUM(payments) AS condition_9, SUM(delivered) AS condition_11,
  MAX(last_id) - SUM(orders) AS e7
FROM (SELECT d_w_id AS w, d_id AS d, d_next_o_id - 1 AS last_id, 0 AS last_order, 0 AS last_new, 0 AS hole,
    d_ytd AS payments, -{delivered} AS delivered, 0 AS orders FROM district
  UNION ALL SELECT o_w_id, o_d_id, 0, MAX(o_id), 0, 0, 0, COUNT(*), COUNT(*) FROM orders GROUP BY o_w_id, o_d_id
  UNION ALL SELECT no_w_id, no_d_id, 0, 0, MAX(no_o_id), MAX(no_o_id) - MIN(no_o_id) + 1 - COUNT(*), 0, -COUNT(*), 0
    FROM new_order GROUP BY no_w_id, no_d_id
  UNION ALL SELECT h_w_id, h_d_id, 0, 0, 0, 0, -SUM(h_amount), 0, 0 FROM history GROUP BY h_w_id, h_d_id
  UNION ALL SELECT c_w_id, c_d_id, 0, 0, 0, 0, 0, -SUM(c_delivery_cnt), 0 FROM customer GROUP BY c_w_id, c_d_id) u
GROUP BY w, d
HAVING MAX(last_id) <> MAX(last_order) OR MAX(last_new) NOT IN (0, MAX(last_id)) OR SUM(hole) <> 0
  OR SUM(payments) <> 0 OR SUM(delivered) <> 0 OR MAX(last_id) <> SUM(orders)
-- lines
SELECT w, d, SUM(k) AS condition_4
FROM (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS k FROM orders GROUP BY o_w_id, o_d_id
  UNION ALL SELECT ol_w_id, ol_d_id, -COUNT(*) FROM order_line GROUP BY ol_w_id, ol_d_id) u
GROUP BY w, d
HAVING SUM(k) <> 0
-- waiting
SELECT w, d, o, SUM(k) AS condition_5
FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS k FROM orders WHERE o_carrier_id IS NULL
  UNION ALL SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_order) u
GROUP BY w, d, o
HAVING SUM(k) <> 0
-- orders
SELECT w, d, o, COALESCE(o_ol_cnt, 0) - found AS condition_6,
  CASE WHEN o_carrier_id IS NULL THEN delivered ELSE found - delivered END AS condition_7,
  CASE WHEN o_id IS NULL OR o_all_local = CASE WHEN remote > 0 THEN 0 ELSE 1 END THEN 0 ELSE 1 END AS e10
FROM (SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, COUNT(*) AS found, COUNT(ol_delivery_d) AS delivered,
    COUNT(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 END) AS remote
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
  LEFT JOIN orders ON o_w_id = w AND o_d_id = d AND o_id = o
WHERE o_id IS NULL OR o_ol_cnt <> found
  OR delivered <> CASE WHEN o_carrier_id IS NULL THEN 0 ELSE found END
  OR o_all_local <> CASE WHEN remote > 0 THEN 0 ELSE 1 END
-- customers
SELECT w, d, c, SUM(k) AS condition_12
FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS k FROM customer
  UNION ALL SELECT o_w_id, o_d_id, o_c_id, -SUM(ol_amount)
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) u
GROUP BY w, d, c
HAVING SUM(k) <> 0
-- deliveries
SELECT w, d, c, SUM(k) AS e6
FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_delivery_cnt AS k FROM customer WHERE c_delivery_cnt <> 0
  UNION ALL SELECT o_w_id, o_d_id, o_c_id, -1 FROM orders WHERE o_id > {delivered} AND o_carrier_id IS NOT NULL) u
GROUP BY w, d, c
HAVING SUM(k) <> 0
-- payments
SELECT w, d, c, SUM(times) AS e5, SUM(paid) AS e9
FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_payment_cnt AS times, c_ytd_payment AS paid FROM customer
  UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, -1, -h_amount FROM history) u
GROUP BY w, d, c
HAVING SUM(times) <> 0 OR SUM(paid) <> 0
-- balances
SELECT w, d, c, SUM(k) AS condition_10
FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS k FROM customer
  UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history
  UNION ALL SELECT o_w_id, o_d_id, o_c_id, -SUM(ol_amount)
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) u
GROUP BY w, d, c
HAVING SUM(k) <> 0
-- stock
SELECT w, i, SUM(orders) AS e1, SUM(ytd) AS e2, SUM(remote) AS e3, SUM(outside) AS e4
FROM (SELECT s_w_id AS w, s_i_id AS i, s_order_cnt AS orders, s_ytd AS ytd, s_remote_cnt AS remote,
    CASE WHEN s_quantity BETWEEN 10 AND 100 THEN 0 ELSE 1 END AS outside FROM stock
    WHERE s_order_cnt <> 0 OR s_ytd <> 0 OR s_remote_cnt <> 0 OR s_quantity NOT BETWEEN 10 AND 100
  UNION ALL SELECT ol_supply_w_id, ol_i_id, -COUNT(*), -SUM(ol_quantity),
    -SUM(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END), 0
    FROM order_line WHERE ol_o_id > {orders} GROUP BY ol_supply_w_id, ol_i_id) u
GROUP BY w, i
HAVING SUM(orders) <> 0 OR SUM(ytd) <> 0 OR SUM(remote) <> 0 OR SUM(outside) <> 0
-- amounts
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_amount - ol_quantity * i_price AS e11
FROM order_line JOIN item ON i_id = ol_i_id
WHERE ol_o_id > {orders} AND ol_amount <> ol_quantity * i_price
-- all-warehouses
SELECT COUNT(*) FROM warehouse
-- all-districts
SELECT COUNT(*), SUM(d_next_o_id - 1 - {orders}) FROM district
-- all-customers
SELECT COUNT(*), SUM(c_delivery_cnt) FROM customer
-- all-history
SELECT COUNT(*), SUM(h_amount) FROM history
-- all-items
SELECT COUNT(*) FROM item
-- all-stock
SELECT COUNT(*), SUM(s_order_cnt), SUM(s_ytd), SUM(s_remote_cnt) FROM stock
-- all-remote-orders
SELECT COUNT(*) FROM orders WHERE o_all_local = 0
-- carriers
SELECT o_id, o_carrier_id FROM orders
WHERE o_w_id = {w} AND o_d_id = {d} AND o_id > {delivered} AND o_carrier_id IS NOT NULL
