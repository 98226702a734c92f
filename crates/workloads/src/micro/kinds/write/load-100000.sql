-- does: loads 100,000 rows from a file on the server (LOAD DATA, COPY)
-- count: 5
-- protocol: simple
-- not sqlite: no statement of it reads a file

-- before mysql:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
CREATE TABLE micro_temporary (id INTEGER NOT NULL, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL) ENGINE = CSV;
INSERT INTO micro_temporary (id, k, c, pad)
SELECT (tens.id - 1) * 10000 + rows_.id, rows_.k, rows_.c, rows_.pad
FROM sbtest1 AS tens CROSS JOIN sbtest1 AS rows_ WHERE tens.id <= 10 AND rows_.id <= 10000;
FLUSH TABLES;

-- before postgres:
CREATE TABLE micro_scratch (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL);
COPY (SELECT (tens.id - 1) * 10000 + rows_.id, rows_.k, rows_.c, rows_.pad
FROM sbtest1 AS tens CROSS JOIN sbtest1 AS rows_ WHERE tens.id <= 10 AND rows_.id <= 10000)
TO PROGRAM 'cat > micro_load.txt';

-- run mysql:
-- expect: changed 100000
LOAD DATA INFILE 'micro_temporary.CSV' INTO TABLE micro_scratch FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"';

-- run postgres:
-- expect: changed 100000
COPY micro_scratch FROM 'micro_load.txt';

-- undo:
{truncate} micro_scratch;

-- after mysql:
DROP TABLE IF EXISTS micro_scratch;
DROP TABLE IF EXISTS micro_temporary;

-- after postgres:
DROP TABLE IF EXISTS micro_scratch;
COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -f micro_load.txt';
