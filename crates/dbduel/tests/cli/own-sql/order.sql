-- Each mistake of a script is reported with its place.
\set item random_zipf(1, 1000, 1.1)
\set half 1 / 0
-- expct: 1 row
SELECT price FROM item WHERE id = :itme;
\shell ls
UPDATE item SET stock = 'one;
