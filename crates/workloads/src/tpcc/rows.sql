-- order-customer
SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- order-district mysql
SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE
-- order-district sqlite
SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?
-- number-order mysql sqlite
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?
-- number-order postgres
UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ? RETURNING d_tax, d_next_o_id - 1 AS d_next_o_id
-- insert-order
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, NULL, ?, ?)
-- insert-new-order
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)
-- item
SELECT i_price, i_name, i_data FROM item WHERE i_id = ?
-- stock mysql postgres
SELECT s_quantity, s_dist_xx, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE
-- stock sqlite
SELECT s_quantity, s_dist_xx, s_data FROM stock WHERE s_w_id = ? AND s_i_id = ?
-- change-stock
UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?
-- insert-line
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)
-- pay-warehouse mysql sqlite
UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?
-- pay-warehouse postgres
UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ? RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
-- show-warehouse mysql sqlite
SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?
-- pay-district mysql sqlite
UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?
-- pay-district postgres
UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ? RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
-- show-district mysql sqlite
SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?
-- customers-of-name
SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first, c_id
-- lock-customer mysql postgres
SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE
-- lock-customer sqlite
SELECT c_credit, c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- customer-data mysql postgres
SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE
-- customer-data sqlite
SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- pay-customer
UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- pay-bad-customer
UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- insert-history
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
-- customer
SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- newest-order
SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1
-- lines-of-order
SELECT ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?
-- oldest-order mysql postgres
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE
-- oldest-order sqlite
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1
-- look-for-orders postgres
SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1
-- take-order
DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?
-- customer-of-order mysql sqlite
SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?
-- carry-order mysql sqlite
UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?
-- carry-order postgres
UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? RETURNING o_c_id
-- deliver-lines
UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?
-- sum-of-lines
SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?
-- bill-customer
UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?
-- next-order
SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?
-- low-stock
SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?
