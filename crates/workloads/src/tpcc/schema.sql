-- create-order_line mysql postgres
CREATE TABLE order_line (
  ol_o_id INTEGER NOT NULL,
  ol_d_id {tiny} NOT NULL,
  ol_w_id INTEGER NOT NULL,
  ol_number {tiny} NOT NULL,
  ol_i_id INTEGER NOT NULL,
  ol_supply_w_id INTEGER NOT NULL,
  ol_delivery_d {date},
  ol_quantity {tiny} NOT NULL,
  ol_amount DECIMAL(6,2) NOT NULL,
  ol_dist_info CHAR(24) NOT NULL{key}
){end}
-- create-order_line sqlite
CREATE TABLE order_line (
  ol_o_id INTEGER NOT NULL,
  ol_d_id INTEGER NOT NULL,
  ol_w_id INTEGER NOT NULL,
  ol_number INTEGER NOT NULL,
  ol_i_id INTEGER NOT NULL,
  ol_supply_w_id INTEGER NOT NULL,
  ol_delivery_d TEXT,
  ol_quantity INTEGER NOT NULL,
  ol_amount INTEGER NOT NULL,
  ol_dist_info TEXT NOT NULL{key}
) WITHOUT ROWID
-- key-order_line
ol_w_id, ol_d_id, ol_o_id, ol_number
-- link-order_line mysql postgres
ALTER TABLE order_line ADD CONSTRAINT order_line_orders
  FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES orders (o_w_id, o_d_id, o_id);
ALTER TABLE order_line ADD CONSTRAINT order_line_stock
  FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES stock (s_w_id, s_i_id)
-- create-stock mysql postgres
CREATE TABLE stock (
  s_i_id INTEGER NOT NULL,
  s_w_id INTEGER NOT NULL,
  s_quantity SMALLINT NOT NULL,
  s_dist_01 CHAR(24) NOT NULL,
  s_dist_02 CHAR(24) NOT NULL,
  s_dist_03 CHAR(24) NOT NULL,
  s_dist_04 CHAR(24) NOT NULL,
  s_dist_05 CHAR(24) NOT NULL,
  s_dist_06 CHAR(24) NOT NULL,
  s_dist_07 CHAR(24) NOT NULL,
  s_dist_08 CHAR(24) NOT NULL,
  s_dist_09 CHAR(24) NOT NULL,
  s_dist_10 CHAR(24) NOT NULL,
  s_ytd BIGINT NOT NULL,
  s_order_cnt INTEGER NOT NULL,
  s_remote_cnt INTEGER NOT NULL,
  s_data VARCHAR(50) NOT NULL{key}
){end}
-- create-stock sqlite
CREATE TABLE stock (
  s_i_id INTEGER NOT NULL,
  s_w_id INTEGER NOT NULL,
  s_quantity INTEGER NOT NULL,
  s_dist_01 TEXT NOT NULL,
  s_dist_02 TEXT NOT NULL,
  s_dist_03 TEXT NOT NULL,
  s_dist_04 TEXT NOT NULL,
  s_dist_05 TEXT NOT NULL,
  s_dist_06 TEXT NOT NULL,
  s_dist_07 TEXT NOT NULL,
  s_dist_08 TEXT NOT NULL,
  s_dist_09 TEXT NOT NULL,
  s_dist_10 TEXT NOT NULL,
  s_ytd INTEGER NOT NULL,
  s_order_cnt INTEGER NOT NULL,
  s_remote_cnt INTEGER NOT NULL,
  s_data TEXT NOT NULL{key}
) WITHOUT ROWID
-- key-stock
s_w_id, s_i_id
-- link-stock mysql postgres
ALTER TABLE stock ADD CONSTRAINT stock_warehouse FOREIGN KEY (s_w_id) REFERENCES warehouse (w_id);
ALTER TABLE stock ADD CONSTRAINT stock_item FOREIGN KEY (s_i_id) REFERENCES item (i_id)
-- create-customer mysql postgres
CREATE TABLE customer (
  c_id INTEGER NOT NULL,
  c_d_id {tiny} NOT NULL,
  c_w_id INTEGER NOT NULL,
  c_first VARCHAR(16){bytewise} NOT NULL,
  c_middle CHAR(2) NOT NULL,
  c_last VARCHAR(16){bytewise} NOT NULL,
  c_street_1 VARCHAR(20) NOT NULL,
  c_street_2 VARCHAR(20) NOT NULL,
  c_city VARCHAR(20) NOT NULL,
  c_state CHAR(2) NOT NULL,
  c_zip CHAR(9) NOT NULL,
  c_phone CHAR(16) NOT NULL,
  c_since {date} NOT NULL,
  c_credit CHAR(2) NOT NULL,
  c_credit_lim DECIMAL(12,2) NOT NULL,
  c_discount DECIMAL(4,4) NOT NULL,
  c_balance DECIMAL(14,2) NOT NULL,
  c_ytd_payment DECIMAL(14,2) NOT NULL,
  c_payment_cnt INTEGER NOT NULL,
  c_delivery_cnt INTEGER NOT NULL,
  c_data VARCHAR(500) NOT NULL{key}
){end}
-- create-customer sqlite
CREATE TABLE customer (
  c_id INTEGER NOT NULL,
  c_d_id INTEGER NOT NULL,
  c_w_id INTEGER NOT NULL,
  c_first TEXT NOT NULL,
  c_middle TEXT NOT NULL,
  c_last TEXT NOT NULL,
  c_street_1 TEXT NOT NULL,
  c_street_2 TEXT NOT NULL,
  c_city TEXT NOT NULL,
  c_state TEXT NOT NULL,
  c_zip TEXT NOT NULL,
  c_phone TEXT NOT NULL,
  c_since TEXT NOT NULL,
  c_credit TEXT NOT NULL,
  c_credit_lim INTEGER NOT NULL,
  c_discount INTEGER NOT NULL,
  c_balance INTEGER NOT NULL,
  c_ytd_payment INTEGER NOT NULL,
  c_payment_cnt INTEGER NOT NULL,
  c_delivery_cnt INTEGER NOT NULL,
  c_data TEXT NOT NULL{key}
) WITHOUT ROWID
-- key-customer
c_w_id, c_d_id, c_id
-- index-customer
CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first, c_id)
-- link-customer mysql postgres
ALTER TABLE customer ADD CONSTRAINT customer_district
  FOREIGN KEY (c_w_id, c_d_id) REFERENCES district (d_w_id, d_id)
-- create-orders mysql postgres
CREATE TABLE orders (
  o_id INTEGER NOT NULL,
  o_d_id {tiny} NOT NULL,
  o_w_id INTEGER NOT NULL,
  o_c_id INTEGER NOT NULL,
  o_entry_d {date} NOT NULL,
  o_carrier_id {tiny},
  o_ol_cnt {tiny} NOT NULL,
  o_all_local {tiny} NOT NULL{key}
){end}
-- create-orders sqlite
CREATE TABLE orders (
  o_id INTEGER NOT NULL,
  o_d_id INTEGER NOT NULL,
  o_w_id INTEGER NOT NULL,
  o_c_id INTEGER NOT NULL,
  o_entry_d TEXT NOT NULL,
  o_carrier_id INTEGER,
  o_ol_cnt INTEGER NOT NULL,
  o_all_local INTEGER NOT NULL{key}
) WITHOUT ROWID
-- key-orders
o_w_id, o_d_id, o_id
-- index-orders
CREATE UNIQUE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)
-- link-orders mysql postgres
ALTER TABLE orders ADD CONSTRAINT orders_customer_exists
  FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES customer (c_w_id, c_d_id, c_id)
-- create-history mysql postgres
CREATE TABLE history (
  h_c_id INTEGER NOT NULL,
  h_c_d_id {tiny} NOT NULL,
  h_c_w_id INTEGER NOT NULL,
  h_d_id {tiny} NOT NULL,
  h_w_id INTEGER NOT NULL,
  h_date {date} NOT NULL,
  h_amount DECIMAL(6,2) NOT NULL,
  h_data VARCHAR(24) NOT NULL
){end}
-- create-history sqlite
CREATE TABLE history (
  h_c_id INTEGER NOT NULL,
  h_c_d_id INTEGER NOT NULL,
  h_c_w_id INTEGER NOT NULL,
  h_d_id INTEGER NOT NULL,
  h_w_id INTEGER NOT NULL,
  h_date TEXT NOT NULL,
  h_amount INTEGER NOT NULL,
  h_data TEXT NOT NULL
)
-- link-history mysql postgres
ALTER TABLE history ADD CONSTRAINT history_customer
  FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES customer (c_w_id, c_d_id, c_id);
ALTER TABLE history ADD CONSTRAINT history_district
  FOREIGN KEY (h_w_id, h_d_id) REFERENCES district (d_w_id, d_id)
-- create-new_order mysql postgres
CREATE TABLE new_order (
  no_o_id INTEGER NOT NULL,
  no_d_id {tiny} NOT NULL,
  no_w_id INTEGER NOT NULL{key}
){end}
-- create-new_order sqlite
CREATE TABLE new_order (
  no_o_id INTEGER NOT NULL,
  no_d_id INTEGER NOT NULL,
  no_w_id INTEGER NOT NULL{key}
) WITHOUT ROWID
-- key-new_order
no_w_id, no_d_id, no_o_id
-- link-new_order mysql postgres
ALTER TABLE new_order ADD CONSTRAINT new_order_orders
  FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES orders (o_w_id, o_d_id, o_id)
-- create-district mysql postgres
CREATE TABLE district (
  d_id {tiny} NOT NULL,
  d_w_id INTEGER NOT NULL,
  d_name VARCHAR(10) NOT NULL,
  d_street_1 VARCHAR(20) NOT NULL,
  d_street_2 VARCHAR(20) NOT NULL,
  d_city VARCHAR(20) NOT NULL,
  d_state CHAR(2) NOT NULL,
  d_zip CHAR(9) NOT NULL,
  d_tax DECIMAL(4,4) NOT NULL,
  d_ytd DECIMAL(16,2) NOT NULL,
  d_next_o_id INTEGER NOT NULL{key}
){end}
-- create-district sqlite
CREATE TABLE district (
  d_id INTEGER NOT NULL,
  d_w_id INTEGER NOT NULL,
  d_name TEXT NOT NULL,
  d_street_1 TEXT NOT NULL,
  d_street_2 TEXT NOT NULL,
  d_city TEXT NOT NULL,
  d_state TEXT NOT NULL,
  d_zip TEXT NOT NULL,
  d_tax INTEGER NOT NULL,
  d_ytd INTEGER NOT NULL,
  d_next_o_id INTEGER NOT NULL{key}
) WITHOUT ROWID
-- key-district
d_w_id, d_id
-- link-district mysql postgres
ALTER TABLE district ADD CONSTRAINT district_warehouse FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)
-- create-warehouse mysql postgres
CREATE TABLE warehouse (
  w_id INTEGER NOT NULL,
  w_name VARCHAR(10) NOT NULL,
  w_street_1 VARCHAR(20) NOT NULL,
  w_street_2 VARCHAR(20) NOT NULL,
  w_city VARCHAR(20) NOT NULL,
  w_state CHAR(2) NOT NULL,
  w_zip CHAR(9) NOT NULL,
  w_tax DECIMAL(4,4) NOT NULL,
  w_ytd DECIMAL(16,2) NOT NULL{key}
){end}
-- create-warehouse sqlite
CREATE TABLE warehouse (
  w_id INTEGER NOT NULL,
  w_name TEXT NOT NULL,
  w_street_1 TEXT NOT NULL,
  w_street_2 TEXT NOT NULL,
  w_city TEXT NOT NULL,
  w_state TEXT NOT NULL,
  w_zip TEXT NOT NULL,
  w_tax INTEGER NOT NULL,
  w_ytd INTEGER NOT NULL{key}
) WITHOUT ROWID
-- key-warehouse
w_id
-- create-item mysql postgres
CREATE TABLE item (
  i_id INTEGER NOT NULL,
  i_im_id INTEGER NOT NULL,
  i_name VARCHAR(24) NOT NULL,
  i_price DECIMAL(5,2) NOT NULL,
  i_data VARCHAR(50) NOT NULL{key}
){end}
-- create-item sqlite
CREATE TABLE item (
  i_id INTEGER NOT NULL,
  i_im_id INTEGER NOT NULL,
  i_name TEXT NOT NULL,
  i_price INTEGER NOT NULL,
  i_data TEXT NOT NULL{key}
) WITHOUT ROWID
-- key-item
i_id
-- create-tpcc_meta
CREATE TABLE tpcc_meta (
  format_version INTEGER NOT NULL,
  warehouses INTEGER NOT NULL,
  data_seed BIGINT NOT NULL,
  c_last_load INTEGER NOT NULL{key}
){end}
-- key-tpcc_meta
format_version
