-- create-lineitem
CREATE TABLE lineitem (
  l_orderkey {key} NOT NULL,
  l_partkey {key} NOT NULL,
  l_suppkey {key} NOT NULL,
  l_linenumber INTEGER NOT NULL,
  l_quantity {money} NOT NULL,
  l_extendedprice {money} NOT NULL,
  l_discount {money} NOT NULL,
  l_tax {money} NOT NULL,
  l_returnflag CHAR(1){bytewise} NOT NULL,
  l_linestatus CHAR(1){bytewise} NOT NULL,
  l_shipdate {date} NOT NULL,
  l_commitdate {date} NOT NULL,
  l_receiptdate {date} NOT NULL,
  l_shipinstruct CHAR(25){bytewise} NOT NULL,
  l_shipmode CHAR(10){bytewise} NOT NULL,
  l_comment VARCHAR(44){bytewise} NOT NULL{primary}
){end}
-- key-lineitem
l_orderkey, l_linenumber
-- indexes-lineitem
lineitem_part l_partkey, l_suppkey
lineitem_supplier l_suppkey
lineitem_shipped l_shipdate
-- create-orders
CREATE TABLE orders (
  o_orderkey {key} NOT NULL,
  o_custkey {key} NOT NULL,
  o_orderstatus CHAR(1){bytewise} NOT NULL,
  o_totalprice {money} NOT NULL,
  o_orderdate {date} NOT NULL,
  o_orderpriority CHAR(15){bytewise} NOT NULL,
  o_clerk CHAR(15){bytewise} NOT NULL,
  o_shippriority INTEGER NOT NULL,
  o_comment VARCHAR(79){bytewise} NOT NULL{primary}
){end}
-- key-orders
o_orderkey
-- indexes-orders
orders_customer o_custkey
orders_ordered o_orderdate
-- create-partsupp
CREATE TABLE partsupp (
  ps_partkey {key} NOT NULL,
  ps_suppkey {key} NOT NULL,
  ps_availqty INTEGER NOT NULL,
  ps_supplycost {money} NOT NULL,
  ps_comment VARCHAR(199){bytewise} NOT NULL{primary}
){end}
-- key-partsupp
ps_partkey, ps_suppkey
-- indexes-partsupp
partsupp_supplier ps_suppkey
-- create-part
CREATE TABLE part (
  p_partkey {key} NOT NULL,
  p_name VARCHAR(55){bytewise} NOT NULL,
  p_mfgr CHAR(25){bytewise} NOT NULL,
  p_brand CHAR(10){bytewise} NOT NULL,
  p_type VARCHAR(25){bytewise} NOT NULL,
  p_size INTEGER NOT NULL,
  p_container CHAR(10){bytewise} NOT NULL,
  p_retailprice {money} NOT NULL,
  p_comment VARCHAR(23){bytewise} NOT NULL{primary}
){end}
-- key-part
p_partkey
-- create-customer
CREATE TABLE customer (
  c_custkey {key} NOT NULL,
  c_name VARCHAR(25){bytewise} NOT NULL,
  c_address VARCHAR(40){bytewise} NOT NULL,
  c_nationkey {key} NOT NULL,
  c_phone CHAR(15){bytewise} NOT NULL,
  c_acctbal {money} NOT NULL,
  c_mktsegment CHAR(10){bytewise} NOT NULL,
  c_comment VARCHAR(117){bytewise} NOT NULL{primary}
){end}
-- key-customer
c_custkey
-- indexes-customer
customer_nation c_nationkey
-- create-supplier
CREATE TABLE supplier (
  s_suppkey {key} NOT NULL,
  s_name CHAR(25){bytewise} NOT NULL,
  s_address VARCHAR(40){bytewise} NOT NULL,
  s_nationkey {key} NOT NULL,
  s_phone CHAR(15){bytewise} NOT NULL,
  s_acctbal {money} NOT NULL,
  s_comment VARCHAR(101){bytewise} NOT NULL{primary}
){end}
-- key-supplier
s_suppkey
-- indexes-supplier
supplier_nation s_nationkey
-- create-nation
CREATE TABLE nation (
  n_nationkey {key} NOT NULL,
  n_name CHAR(25){bytewise} NOT NULL,
  n_regionkey {key} NOT NULL,
  n_comment VARCHAR(152){bytewise} NOT NULL{primary}
){end}
-- key-nation
n_nationkey
-- indexes-nation
nation_region n_regionkey
-- create-region
CREATE TABLE region (
  r_regionkey {key} NOT NULL,
  r_name CHAR(25){bytewise} NOT NULL,
  r_comment VARCHAR(152){bytewise} NOT NULL{primary}
){end}
-- key-region
r_regionkey
