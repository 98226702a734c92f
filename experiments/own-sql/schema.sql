-- Plain SQL, as every engine of dbduel takes it. Secondary indexes come behind the rows, in indexes.sql.
CREATE TABLE customer (
  id INTEGER NOT NULL PRIMARY KEY,
  name VARCHAR(40) NOT NULL,
  email VARCHAR(60) NOT NULL,
  region INTEGER NOT NULL,
  since DATE NOT NULL
);

CREATE TABLE product (
  id INTEGER NOT NULL PRIMARY KEY,
  category INTEGER NOT NULL,
  title VARCHAR(60) NOT NULL,
  price DECIMAL(10, 2) NOT NULL,
  stock INTEGER NOT NULL
);

CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer_id INTEGER NOT NULL,
  state VARCHAR(8) NOT NULL,
  placed TIMESTAMP NOT NULL
);

CREATE TABLE order_line (
  order_id BIGINT NOT NULL,
  product_id INTEGER NOT NULL,
  quantity INTEGER NOT NULL,
  price DECIMAL(10, 2) NOT NULL
);
