-- routines
SELECT routine_name FROM information_schema.routines WHERE routine_schema = DATABASE()
-- drop-new-order
DROP PROCEDURE IF EXISTS tpcc_new_order
-- drop-payment
DROP PROCEDURE IF EXISTS tpcc_payment
-- drop-order-status
DROP PROCEDURE IF EXISTS tpcc_order_status
-- drop-delivery
DROP PROCEDURE IF EXISTS tpcc_delivery
-- drop-stock-level
DROP PROCEDURE IF EXISTS tpcc_stock_level
-- call-new-order
CALL tpcc_new_order(?, ?, ?, ?, ?, ?)
-- call-payment
CALL tpcc_payment(?, ?, ?, ?, ?, ?, ?)
-- call-order-status
CALL tpcc_order_status(?, ?, ?, ?)
-- call-delivery
CALL tpcc_delivery(?, ?, ?, ?)
-- call-stock-level
CALL tpcc_stock_level(?, ?, ?)
-- create-new-order
CREATE PROCEDURE tpcc_new_order(
  p_w INT, p_d INT, p_c INT, p_all_local INT, p_count INT, p_lines VARCHAR(255) CHARACTER SET latin1
)
BEGIN
  DECLARE v_status, v_n, v_at, v_number, v_item, v_supply, v_quantity, v_stock INT DEFAULT 0;
  DECLARE v_o INT;
  DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4, 4);
  DECLARE v_price, v_amount DECIMAL(6, 2);
  DECLARE v_sum DECIMAL(12, 2) DEFAULT 0;
  DECLARE v_c_last, v_c_credit VARCHAR(16) CHARACTER SET latin1;
  DECLARE v_name, v_dist VARCHAR(24) CHARACTER SET latin1;
  DECLARE v_item_data, v_stock_data VARCHAR(50) CHARACTER SET latin1;
  DECLARE v_brand CHAR(1) CHARACTER SET latin1;
  DECLARE v_out VARCHAR(1000) CHARACTER SET latin1 DEFAULT '';
  -- What is not found leaves its variables NULL.
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  START TRANSACTION;
  SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_c_last, v_c_credit, v_w_tax
    FROM customer, warehouse
    WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  SELECT d_tax, d_next_o_id INTO v_d_tax, v_o FROM district WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = v_o + 1 WHERE d_w_id = p_w AND d_id = p_d;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (v_o, p_d, p_w, p_c, NOW(), NULL, p_count, p_all_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (v_o, p_d, p_w);
  WHILE v_n < p_count AND v_status = 0 DO
    -- Each line is number:2 item:6 supplying warehouse:7 quantity:2.
    SET v_at = v_n * 17;
    SET v_n = v_n + 1;
    SET v_number = SUBSTRING(p_lines, v_at + 1, 2);
    SET v_item = SUBSTRING(p_lines, v_at + 3, 6);
    SET v_supply = SUBSTRING(p_lines, v_at + 9, 7);
    SET v_quantity = SUBSTRING(p_lines, v_at + 16, 2);
    SET v_price = NULL;
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_item_data FROM item WHERE i_id = v_item;
    IF v_price IS NULL THEN
      SET v_status = 1;
    ELSE
      SET v_dist = NULL;
      SELECT s_quantity, s_data,
          ELT(p_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
            s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10)
        INTO v_stock, v_stock_data, v_dist
        FROM stock WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
      SET v_stock = v_stock - v_quantity + IF(v_stock >= v_quantity + 10, 0, 91);
      UPDATE stock
        SET s_quantity = v_stock, s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
          s_remote_cnt = s_remote_cnt + (v_supply <> p_w)
        WHERE s_w_id = v_supply AND s_i_id = v_item;
      SET v_amount = v_quantity * v_price;
      SET v_sum = v_sum + v_amount;
      INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
          ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
        VALUES (v_o, p_d, p_w, v_number, v_item, v_supply, NULL, v_quantity, v_amount, v_dist);
      SET v_brand = IF(INSTR(v_item_data, 'ORIGINAL') > 0 AND INSTR(v_stock_data, 'ORIGINAL') > 0, 'B', 'G');
      SET v_out = CONCAT(v_out, v_name, ',', v_stock, ',', v_brand, ',', v_price, ',', v_amount, ';');
    END IF;
  END WHILE;
  IF v_c_last IS NULL THEN
    SET v_status = 2;
  END IF;
  SELECT v_status, v_o, v_c_last, v_c_credit, v_discount, v_w_tax, v_d_tax,
    ROUND(v_sum * (1 - v_discount) * (1 + v_w_tax + v_d_tax), 2) AS total, v_out;
  IF v_status = 0 THEN
    COMMIT;
  ELSE
    ROLLBACK;
  END IF;
END
-- create-payment
CREATE PROCEDURE tpcc_payment(
  p_w INT, p_d INT, p_c_w INT, p_c_d INT, p_c INT, p_c_last VARCHAR(16) CHARACTER SET latin1, p_amount DECIMAL(6, 2)
)
BEGIN
  DECLARE v_found, v_c INT;
  DECLARE v_w_name, v_d_name VARCHAR(10) CHARACTER SET latin1;
  DECLARE v_w_street_1, v_w_street_2, v_w_city, v_d_street_1, v_d_street_2, v_d_city,
    v_street_1, v_street_2, v_city VARCHAR(20) CHARACTER SET latin1;
  DECLARE v_w_state, v_d_state, v_state, v_middle, v_credit CHAR(2) CHARACTER SET latin1;
  DECLARE v_w_zip, v_d_zip, v_zip CHAR(9) CHARACTER SET latin1;
  DECLARE v_first, v_last VARCHAR(16) CHARACTER SET latin1;
  DECLARE v_phone CHAR(16) CHARACTER SET latin1;
  DECLARE v_since DATETIME;
  DECLARE v_limit DECIMAL(12, 2);
  DECLARE v_discount DECIMAL(4, 4);
  DECLARE v_balance DECIMAL(14, 2);
  DECLARE v_note VARCHAR(100) CHARACTER SET latin1;
  DECLARE v_data VARCHAR(500) CHARACTER SET latin1;
  DECLARE v_ids VARCHAR(1000) CHARACTER SET latin1;
  -- What is not found leaves its variables NULL.
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  START TRANSACTION;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO v_w_name, v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip
    FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO v_d_name, v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip
    FROM district WHERE d_w_id = p_w AND d_id = p_d;
  IF p_c > 0 THEN
    SET v_found = 0;
    SET v_c = p_c;
  ELSE
    -- The middle one of a list: before 5.5 LIMIT takes no variables, and a cursor writes a table.
    SELECT COUNT(*), GROUP_CONCAT(c_id ORDER BY c_first, c_id) INTO v_found, v_ids
      FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_c_last;
    SET v_c = SUBSTRING_INDEX(SUBSTRING_INDEX(v_ids, ',', (v_found + 1) DIV 2), ',', -1);
  END IF;
  SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
      c_credit, c_credit_lim, c_discount, c_balance - p_amount
    INTO v_first, v_middle, v_last, v_street_1, v_street_2, v_city, v_state, v_zip, v_phone, v_since,
      v_credit, v_limit, v_discount, v_balance
    FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
  IF v_credit = 'BC' THEN
    -- By way of a variable, which gives the numbers' text the character set of the data.
    SET v_note = CONCAT_WS(' ', v_c, p_c_d, p_c_w, p_d, p_w, p_amount);
    -- A locking read again: the snapshot of this transaction may be older than the row it has locked.
    SELECT c_data INTO v_data FROM customer
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
    SET v_data = LEFT(CONCAT(v_note, _latin1'|', v_data), 500);
    UPDATE customer
      SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1, c_data = v_data
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  ELSE
    UPDATE customer
      SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
        c_payment_cnt = c_payment_cnt + 1
      WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  END IF;
  IF v_credit IS NOT NULL THEN
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
      VALUES (v_c, p_c_d, p_c_w, p_d, p_w, NOW(), p_amount, CONCAT(v_w_name, _latin1'    ', v_d_name));
  END IF;
  SELECT v_credit, v_found, v_c, v_balance, v_limit, v_discount, v_first, v_middle, v_last,
    v_street_1, v_street_2, v_city, v_state, v_zip, v_phone, v_since, LEFT(v_data, 200) AS data,
    v_w_street_1, v_w_street_2, v_w_city, v_w_state, v_w_zip,
    v_d_street_1, v_d_street_2, v_d_city, v_d_state, v_d_zip;
  IF v_credit IS NOT NULL THEN
    COMMIT;
  ELSE
    ROLLBACK;
  END IF;
END
-- create-order-status
CREATE PROCEDURE tpcc_order_status(p_w INT, p_d INT, p_c INT, p_c_last VARCHAR(16) CHARACTER SET latin1)
BEGIN
  DECLARE v_found, v_c, v_o, v_carrier INT;
  DECLARE v_first, v_last VARCHAR(16) CHARACTER SET latin1;
  DECLARE v_middle CHAR(2) CHARACTER SET latin1;
  DECLARE v_balance DECIMAL(14, 2);
  DECLARE v_entry DATETIME;
  DECLARE v_ids VARCHAR(1000) CHARACTER SET latin1;
  -- What is not found leaves its variables NULL, and the answer without rows.
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  START TRANSACTION;
  IF p_c > 0 THEN
    SET v_found = 0;
    SET v_c = p_c;
  ELSE
    SELECT COUNT(*), GROUP_CONCAT(c_id ORDER BY c_first, c_id) INTO v_found, v_ids
      FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_c_last;
    SET v_c = SUBSTRING_INDEX(SUBSTRING_INDEX(v_ids, ',', (v_found + 1) DIV 2), ',', -1);
  END IF;
  SELECT c_balance, c_first, c_middle, c_last INTO v_balance, v_first, v_middle, v_last
    FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
  SELECT o_id, o_entry_d, o_carrier_id INTO v_o, v_entry, v_carrier
    FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
  SELECT v_found, v_c, v_balance, v_first, v_middle, v_last, v_o, v_entry, v_carrier,
      ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
  COMMIT;
END
-- create-delivery
CREATE PROCEDURE tpcc_delivery(p_w INT, p_carrier INT, p_first_d INT, p_last_d INT)
BEGIN
  DECLARE v_d, v_o, v_c, v_deleted, v_tries INT;
  DECLARE v_lost, v_delivered, v_skipped INT DEFAULT 0;
  DECLARE v_sum DECIMAL(12, 2) DEFAULT 0;
  DECLARE v_now DATETIME;
  DECLARE v_out VARCHAR(255) CHARACTER SET latin1 DEFAULT '';
  -- What is not found leaves its variables NULL.
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  START TRANSACTION;
  SET v_now = NOW();
  SET v_d = p_first_d;
  WHILE v_d <= p_last_d AND v_lost = 0 DO
    SET v_tries = 0;
    REPEAT
      SET v_tries = v_tries + 1;
      SET v_o = NULL;
      SET v_deleted = 0;
      SELECT no_o_id INTO v_o FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
      IF v_o IS NOT NULL THEN
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
        SET v_deleted = ROW_COUNT();
      END IF;
    UNTIL v_o IS NULL OR v_deleted = 1 OR v_tries = 10 END REPEAT;
    IF v_o IS NULL THEN
      SET v_skipped = v_skipped + 1;
    ELSEIF v_deleted <> 1 THEN
      SET v_lost = 1;
    ELSE
      -- Changed first and read then: what this transaction changed is in its snapshot, what another
      -- one has committed since the snapshot was taken is not.
      UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE order_line SET ol_delivery_d = v_now WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      SELECT SUM(ol_amount) INTO v_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
      SET v_delivered = v_delivered + 1;
      SET v_out = CONCAT(v_out, v_d, ':', v_o, ';');
    END IF;
    SET v_d = v_d + 1;
  END WHILE;
  SELECT v_lost, v_delivered, v_skipped, v_sum, v_out;
  IF v_lost = 0 THEN
    COMMIT;
  ELSE
    ROLLBACK;
  END IF;
END
-- create-stock-level
CREATE PROCEDURE tpcc_stock_level(p_w INT, p_d INT, p_threshold INT)
BEGIN
  DECLARE v_next INT;
  -- What is not found leaves its variables NULL.
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  START TRANSACTION;
  SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT v_next, COUNT(DISTINCT s_i_id) AS low_stock
    FROM order_line, stock
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
      AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
  COMMIT;
END
