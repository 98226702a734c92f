-- does: SELECT 1: one exchange with the server and nothing else

-- run:
-- expect: 1 row
SELECT 1;
