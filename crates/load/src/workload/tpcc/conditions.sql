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
-- orders
SELECT w, d, o, SUM(undelivered) - SUM(waiting) AS condition_5, SUM(lines_said) - SUM(lines_found) AS condition_6,
  CASE WHEN SUM(undelivered) > 0 THEN SUM(lines_found) - SUM(lines_open) ELSE SUM(lines_open) END AS condition_7,
  CASE WHEN SUM(lines_remote) > 0 THEN SUM(all_local) ELSE SUM(known) - SUM(all_local) END AS e10
FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS known,
    CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END AS undelivered, 0 AS waiting,
    o_ol_cnt AS lines_said, 0 AS lines_found, 0 AS lines_open, 0 AS lines_remote, o_all_local AS all_local FROM orders
  UNION ALL SELECT no_w_id, no_d_id, no_o_id, 0, 0, 1, 0, 0, 0, 0, 0 FROM new_order
  UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, 0, 0, 0, COUNT(*),
    SUM(CASE WHEN ol_delivery_d IS NULL THEN 1 ELSE 0 END),
    SUM(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END), 0
    FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) u
GROUP BY w, d, o
HAVING SUM(undelivered) <> SUM(waiting) OR SUM(lines_said) <> SUM(lines_found)
  OR CASE WHEN SUM(undelivered) > 0 THEN SUM(lines_found) - SUM(lines_open) ELSE SUM(lines_open) END <> 0
  OR CASE WHEN SUM(lines_remote) > 0 THEN SUM(all_local) ELSE SUM(known) - SUM(all_local) END <> 0
-- customers
SELECT w, d, c, SUM(balance) + SUM(paid) - SUM(delivered) AS condition_10,
  SUM(balance) + SUM(ytd) - SUM(delivered) AS condition_12, SUM(payments) AS e5, SUM(deliveries) AS e6,
  SUM(ytd) - SUM(paid) AS e9
FROM (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS balance, c_ytd_payment AS ytd, 0 AS paid,
    0 AS delivered, c_payment_cnt AS payments, c_delivery_cnt AS deliveries FROM customer
  UNION ALL SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, SUM(h_amount), 0, -COUNT(*), 0
    FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id
  UNION ALL SELECT o_w_id, o_d_id, o_c_id, 0, 0, 0, SUM(ol_amount), 0, 0
    FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id
  UNION ALL SELECT o_w_id, o_d_id, o_c_id, 0, 0, 0, 0, 0, -COUNT(*)
    FROM orders WHERE o_id > {delivered} AND o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) u
GROUP BY w, d, c
HAVING SUM(balance) + SUM(paid) <> SUM(delivered) OR SUM(balance) + SUM(ytd) <> SUM(delivered)
  OR SUM(payments) <> 0 OR SUM(deliveries) <> 0 OR SUM(ytd) <> SUM(paid)
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
