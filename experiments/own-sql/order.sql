-- A customer orders one product. The order's number is drawn, so that no server has to make one.
\set product random_zipfian(1, :products, :hot)
\set customer random(1, :customers)
\set number random(1000000000, 9000000000000000000)
\set quantity random(1, 5)
-- label: begin
BEGIN;

-- expect: 1 row
-- label: price
SELECT price FROM product WHERE id = :product \gset

-- expect: changed 1
-- label: stock
UPDATE product SET stock = stock - :quantity WHERE id = :product;

-- expect: changed 1
-- label: new order
INSERT INTO orders (id, customer_id, state, placed) VALUES (:number, :customer, 'NEW', CURRENT_TIMESTAMP);

-- expect: changed 1
-- label: new line
INSERT INTO order_line (order_id, product_id, quantity, price) VALUES (:number, :product, :quantity, :price);

-- label: commit
COMMIT;
