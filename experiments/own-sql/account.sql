-- A customer looks at the latest orders.
\set customer random(1, :customers)

-- expect: 0..100 rows
-- label: latest orders
SELECT o.id, o.state, o.placed, l.product_id, l.quantity, l.price
FROM orders o JOIN order_line l ON l.order_id = o.id
WHERE o.customer_id = :customer
ORDER BY o.placed DESC, o.id
LIMIT 100;
