-- A visitor looks at a product, at others of its category, and at how often it was sold.
\set product random_zipfian(1, :products, :hot)

-- expect: 1 row
-- label: product
SELECT category, title, price FROM product WHERE id = :product \gset

-- expect: 1..20 rows
-- label: category
SELECT id, title, price FROM product WHERE category = :category ORDER BY price LIMIT 20;

-- expect: 1 row
-- label: sold
SELECT count(*) FROM order_line WHERE product_id = :product;
