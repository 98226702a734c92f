-- items mysql sqlite
SELECT i_id, i_price, i_data, i_name FROM item WHERE i_id IN ({, |?})
-- items postgres
SELECT i_id, i_price, i_data, i_name FROM item WHERE i_id = ANY (?::int[])
-- stock mysql
SELECT s_w_id, s_i_id, s_quantity, s_data, CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM stock WHERE { OR |(s_w_id = ? AND s_i_id = ?)} FOR UPDATE
-- stock sqlite
SELECT s_w_id, s_i_id, s_quantity, s_data, CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END FROM stock WHERE { OR |(s_w_id = ? AND s_i_id = ?)}
-- stock postgres
SELECT s_w_id, s_i_id, s_quantity, s_data, s_dist_xx FROM stock JOIN unnest(?::int[], ?::int[]) AS k (w, i) ON s_w_id = k.w AND s_i_id = k.i ORDER BY s_w_id, s_i_id FOR UPDATE OF stock
-- change-stock mysql sqlite
UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + ?, s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?
-- change-stock postgres
UPDATE stock SET s_quantity = k.q, s_ytd = s_ytd + k.y, s_order_cnt = s_order_cnt + k.n, s_remote_cnt = s_remote_cnt + k.r FROM unnest(?::int[], ?::int[], ?::int[], ?::int[], ?::int[], ?::int[]) AS k (q, y, n, r, w, i) WHERE s_w_id = k.w AND s_i_id = k.i
-- insert-lines mysql sqlite
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {, |(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)}
-- insert-lines postgres
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) SELECT ?::int, ?::int, ?::int, k.n, k.i, k.s, NULL, k.q, k.a, k.t FROM unnest(?::int[], ?::int[], ?::int[], ?::int[], ?::numeric[], ?::text[]) AS k (n, i, s, q, a, t)
-- show-places mysql sqlite
SELECT w_name, d_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_street_1, d_street_2, d_city, d_state, d_zip FROM district JOIN warehouse ON w_id = d_w_id WHERE d_w_id = ? AND d_id = ?
-- lock-customer mysql
SELECT c_credit, c_balance, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE
-- lock-customer sqlite
SELECT c_credit, c_balance, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- pay-customer postgres
UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN left(?::text || c_data, 500) ELSE c_data END WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? RETURNING c_credit, c_balance, left(c_data, 200), c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount
-- customer
SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- customers-of-name
SELECT c_id, c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first, c_id
-- newest-order
SELECT o_id, o_entry_d, o_carrier_id, ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = ? AND o_d_id = ? AND o_id = (SELECT MAX(newest.o_id) FROM orders newest WHERE newest.o_w_id = ? AND newest.o_d_id = ? AND newest.o_c_id = ?)
-- take-orders mysql sqlite
DELETE FROM new_order WHERE { OR |(no_w_id = ? AND no_d_id = ? AND no_o_id = ?)}
-- customers-of-orders mysql sqlite
SELECT o_d_id, o_c_id FROM orders WHERE { OR |(o_w_id = ? AND o_d_id = ? AND o_id = ?)}
-- carry-orders mysql sqlite
UPDATE orders SET o_carrier_id = ? WHERE { OR |(o_w_id = ? AND o_d_id = ? AND o_id = ?)}
-- deliver-lines mysql sqlite
UPDATE order_line SET ol_delivery_d = ? WHERE { OR |(ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?)}
-- sums-of-lines mysql sqlite
SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE { OR |(ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?)} GROUP BY ol_d_id
-- oldest-orders postgres
SELECT k.d, (SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = ? AND no_d_id = k.d) FROM unnest(?::int[]) AS k (d)
-- take-orders postgres
DELETE FROM new_order USING unnest(?::int[], ?::int[]) AS k (d, o) WHERE no_w_id = ? AND no_d_id = k.d AND no_o_id = k.o RETURNING no_d_id, no_o_id
-- carry-orders postgres
UPDATE orders SET o_carrier_id = ? FROM unnest(?::int[], ?::int[]) AS k (d, o) WHERE o_w_id = ? AND o_d_id = k.d AND o_id = k.o RETURNING o_d_id, o_c_id
-- deliver-lines postgres
WITH delivered AS (UPDATE order_line SET ol_delivery_d = ? FROM unnest(?::int[], ?::int[]) AS k (d, o) WHERE ol_w_id = ? AND ol_d_id = k.d AND ol_o_id = k.o RETURNING ol_d_id, ol_amount) SELECT ol_d_id, SUM(ol_amount) FROM delivered GROUP BY ol_d_id
-- bill-customers postgres
UPDATE customer SET c_balance = c_balance + k.s, c_delivery_cnt = c_delivery_cnt + 1 FROM unnest(?::numeric[], ?::int[], ?::int[]) AS k (s, d, c) WHERE c_w_id = ? AND c_d_id = k.d AND c_id = k.c
-- low-stock
SELECT COUNT(DISTINCT s_i_id) FROM district JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 AND ol_o_id < d_next_o_id JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE d_w_id = ? AND d_id = ? AND s_quantity < ?
