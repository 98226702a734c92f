-- does: connects with TLS, reads one row by its primary key, disconnects
-- connect: each
-- over: tls
-- protocol: simple
-- not sqlite: it runs inside the client, and opening a file is no login

-- run:
\set id random(1, :rows)
-- expect: 1 row
SELECT c FROM sbtest1 WHERE id = :id;
