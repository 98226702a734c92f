CREATE INDEX product_category ON product (category, price);
CREATE INDEX orders_customer ON orders (customer_id, placed);
CREATE INDEX order_line_order ON order_line (order_id);
CREATE INDEX order_line_product ON order_line (product_id);
