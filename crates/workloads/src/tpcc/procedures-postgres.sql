-- routines
SELECT routine_name FROM information_schema.routines WHERE routine_schema = current_schema()
-- drop-new-order
DROP FUNCTION IF EXISTS tpcc_new_order(integer, integer, integer, integer, integer[], integer[], integer[], integer[])
-- drop-payment
DROP FUNCTION IF EXISTS tpcc_payment(integer, integer, integer, integer, integer, text, numeric)
-- drop-order-status
DROP FUNCTION IF EXISTS tpcc_order_status(integer, integer, integer, text)
-- drop-delivery
DROP FUNCTION IF EXISTS tpcc_delivery(integer, integer, integer, integer)
-- drop-stock-level
DROP FUNCTION IF EXISTS tpcc_stock_level(integer, integer, integer)
-- call-new-order
SELECT * FROM tpcc_new_order(?, ?, ?, ?, ?, ?, ?, ?)
-- call-payment
SELECT * FROM tpcc_payment(?, ?, ?, ?, ?, ?, ?)
-- call-order-status
SELECT * FROM tpcc_order_status(?, ?, ?, ?)
-- call-delivery
SELECT * FROM tpcc_delivery(?, ?, ?, ?)
-- call-stock-level
SELECT * FROM tpcc_stock_level(?, ?, ?)
-- create-new-order
CREATE FUNCTION tpcc_new_order(
  p_w integer, p_d integer, p_c integer, p_all_local integer,
  p_numbers integer[], p_items integer[], p_supplies integer[], p_quantities integer[],
  OUT r_status integer, OUT r_o integer, OUT r_c_last varchar, OUT r_c_credit varchar,
  OUT r_discount numeric, OUT r_w_tax numeric, OUT r_d_tax numeric, OUT r_total numeric, OUT r_lines text
) LANGUAGE plpgsql AS $$
DECLARE
  v_count integer := array_length(p_items, 1);
  v_item integer;
  v_supply integer;
  v_quantity integer;
  v_price numeric(5, 2);
  v_amount numeric(6, 2);
  v_sum numeric(12, 2) := 0;
  v_name varchar;
  v_item_data varchar;
  v_stock integer;
  v_stock_data varchar;
  v_dist varchar;
  v_brand text;
BEGIN
  SELECT c_discount, c_last, c_credit, w_tax INTO STRICT r_discount, r_c_last, r_c_credit, r_w_tax
    FROM customer, warehouse
    WHERE w_id = p_w AND c_w_id = p_w AND c_d_id = p_d AND c_id = p_c;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_tax, d_next_o_id - 1 INTO STRICT r_d_tax, r_o;
  INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (r_o, p_d, p_w, p_c, LOCALTIMESTAMP(0), NULL, v_count, p_all_local);
  INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (r_o, p_d, p_w);
  r_lines := '';
  FOR v_n IN 1..v_count LOOP
    v_item := p_items[v_n];
    v_supply := p_supplies[v_n];
    v_quantity := p_quantities[v_n];
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_item_data FROM item WHERE i_id = v_item;
    IF NOT FOUND THEN
      -- Undoes the whole transaction. The code says it all; a text would only have to be copied.
      RAISE EXCEPTION USING ERRCODE = 'TPC01', MESSAGE = '';
    END IF;
    UPDATE stock
      SET s_quantity = s_quantity - v_quantity + CASE WHEN s_quantity >= v_quantity + 10 THEN 0 ELSE 91 END,
        s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN v_supply <> p_w THEN 1 ELSE 0 END
      WHERE s_w_id = v_supply AND s_i_id = v_item
      RETURNING s_quantity, s_data,
        CASE p_d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04
          WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08
          WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
      INTO STRICT v_stock, v_stock_data, v_dist;
    v_amount := v_quantity * v_price;
    v_sum := v_sum + v_amount;
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      VALUES (r_o, p_d, p_w, p_numbers[v_n], v_item, v_supply, NULL, v_quantity, v_amount, v_dist);
    v_brand := CASE WHEN strpos(v_item_data, 'ORIGINAL') > 0 AND strpos(v_stock_data, 'ORIGINAL') > 0
      THEN 'B' ELSE 'G' END;
    r_lines := r_lines || v_name || ',' || v_stock || ',' || v_brand || ',' || v_price || ',' || v_amount || ';';
  END LOOP;
  r_status := 0;
  r_total := round(v_sum * (1 - r_discount) * (1 + r_w_tax + r_d_tax), 2);
END
$$
-- create-payment
CREATE FUNCTION tpcc_payment(
  p_w integer, p_d integer, p_c_w integer, p_c_d integer, p_c integer, p_c_last text, p_amount numeric,
  OUT r_credit varchar, OUT r_found integer, OUT r_c integer,
  OUT r_balance numeric, OUT r_limit numeric, OUT r_discount numeric,
  OUT r_first varchar, OUT r_middle varchar, OUT r_last varchar, OUT r_street_1 varchar, OUT r_street_2 varchar,
  OUT r_city varchar, OUT r_state varchar, OUT r_zip varchar, OUT r_phone varchar, OUT r_since timestamp,
  OUT r_data text,
  OUT r_w_street_1 varchar, OUT r_w_street_2 varchar, OUT r_w_city varchar, OUT r_w_state varchar, OUT r_w_zip varchar,
  OUT r_d_street_1 varchar, OUT r_d_street_2 varchar, OUT r_d_city varchar, OUT r_d_state varchar, OUT r_d_zip varchar
) LANGUAGE plpgsql AS $$
DECLARE
  v_w_name varchar;
  v_d_name varchar;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO STRICT v_w_name, r_w_street_1, r_w_street_2, r_w_city, r_w_state, r_w_zip;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO STRICT v_d_name, r_d_street_1, r_d_street_2, r_d_city, r_d_state, r_d_zip;
  IF p_c > 0 THEN
    r_found := 0;
    r_c := p_c;
  ELSE
    SELECT count(*), (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::integer] INTO r_found, r_c
      FROM customer WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_last = p_c_last;
  END IF;
  UPDATE customer
    SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE WHEN c_credit = 'BC'
        THEN left(concat_ws(' ', c_id, c_d_id, c_w_id, p_d, p_w, p_amount) || '|' || c_data, 500)
        ELSE c_data END
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = r_c
    RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
      c_credit, c_credit_lim, c_discount, c_balance, CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END
    INTO STRICT r_first, r_middle, r_last, r_street_1, r_street_2, r_city, r_state, r_zip, r_phone, r_since,
      r_credit, r_limit, r_discount, r_balance, r_data;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (r_c, p_c_d, p_c_w, p_d, p_w, LOCALTIMESTAMP(0), p_amount, v_w_name || '    ' || v_d_name);
END
$$
-- create-order-status
CREATE FUNCTION tpcc_order_status(p_w integer, p_d integer, p_c integer, p_c_last text)
RETURNS TABLE (
  r_found integer, r_c integer, r_balance numeric, r_first varchar, r_middle varchar, r_last varchar,
  r_o integer, r_entry timestamp, r_carrier integer,
  r_item integer, r_supply integer, r_quantity integer, r_amount numeric, r_delivery timestamp
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF p_c > 0 THEN
    r_found := 0;
    r_c := p_c;
  ELSE
    SELECT count(*), (array_agg(c_id ORDER BY c_first, c_id))[((count(*) + 1) / 2)::integer] INTO r_found, r_c
      FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_c_last;
  END IF;
  SELECT c_balance, c_first, c_middle, c_last INTO STRICT r_balance, r_first, r_middle, r_last
    FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = r_c;
  SELECT o_id, o_entry_d, o_carrier_id INTO STRICT r_o, r_entry, r_carrier
    FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = r_c ORDER BY o_id DESC LIMIT 1;
  FOR r_item, r_supply, r_quantity, r_amount, r_delivery IN
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
      FROM order_line WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = r_o
  LOOP
    RETURN NEXT;
  END LOOP;
END
$$
-- create-delivery
CREATE FUNCTION tpcc_delivery(
  p_w integer, p_carrier integer, p_first_d integer, p_last_d integer,
  OUT r_lost integer, OUT r_delivered integer, OUT r_skipped integer, OUT r_sum numeric, OUT r_orders text
) LANGUAGE plpgsql AS $$
DECLARE
  v_o integer;
  v_c integer;
  v_deleted integer;
  v_is_empty boolean;
BEGIN
  r_lost := 0;
  r_delivered := 0;
  r_skipped := 0;
  r_sum := 0;
  r_orders := '';
  FOR v_d IN p_first_d..p_last_d LOOP
    FOR v_try IN 1..10 LOOP
      v_deleted := 0;
      v_is_empty := false;
      SELECT no_o_id INTO v_o FROM new_order
        WHERE no_w_id = p_w AND no_d_id = v_d ORDER BY no_o_id LIMIT 1 FOR UPDATE;
      IF v_o IS NULL THEN
        -- Who waited for an order that was then delivered sees only those of before the wait.
        v_is_empty := NOT EXISTS (SELECT 1 FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d);
        EXIT WHEN v_is_empty;
      ELSE
        DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
        GET DIAGNOSTICS v_deleted = ROW_COUNT;
        EXIT WHEN v_deleted = 1;
      END IF;
    END LOOP;
    IF v_is_empty THEN
      r_skipped := r_skipped + 1;
      CONTINUE;
    END IF;
    IF v_deleted <> 1 THEN
      RAISE EXCEPTION 'the oldest new order of warehouse %, district % cannot be taken', p_w, v_d
        USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE orders SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o
      RETURNING o_c_id INTO STRICT v_c;
    UPDATE order_line SET ol_delivery_d = LOCALTIMESTAMP(0) WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
    SELECT sum(ol_amount) INTO r_sum FROM order_line WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
    UPDATE customer SET c_balance = c_balance + r_sum, c_delivery_cnt = c_delivery_cnt + 1
      WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
    r_delivered := r_delivered + 1;
    r_orders := r_orders || v_d || ':' || v_o || ';';
  END LOOP;
END
$$
-- create-stock-level
CREATE FUNCTION tpcc_stock_level(
  p_w integer, p_d integer, p_threshold integer, OUT r_next integer, OUT r_low_stock bigint
) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT d_next_o_id INTO STRICT r_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT count(DISTINCT s_i_id) INTO r_low_stock
    FROM order_line, stock
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= r_next - 20 AND ol_o_id < r_next
      AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
END
$$
