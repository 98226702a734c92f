-- does: groups the whole table into 10 groups

-- run:
-- expect: 10 rows
SELECT few, count(*) AS n, SUM(amount) AS s FROM micro_detail GROUP BY few;
