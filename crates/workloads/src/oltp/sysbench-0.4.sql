-- create-mysql
CREATE TABLE {table} (
  id {id},
  k INTEGER UNSIGNED NOT NULL DEFAULT '0',
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''{key}
) ENGINE={engine}
-- create-postgres
CREATE TABLE {table} (
  id {id},
  k INTEGER NOT NULL DEFAULT '0',
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''{key}
)
-- create-sqlite
CREATE TABLE {table} (
  id {id},
  k INTEGER NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''{key}
)
-- index
CREATE INDEX {index} ON {table}(k)
-- point-select
SELECT c from {table} where id=?
-- row-select
SELECT id, k, c, pad from {table} where id=?
-- pad-select
SELECT pad from {table} where id=?
-- simple-range
SELECT c from {table} where id between ? and ?
-- sum-range
SELECT SUM(K) from {table} where id between ? and ?
-- order-range
SELECT c from {table} where id between ? and ? order by c
-- distinct-range
SELECT DISTINCT c from {table} where id between ? and ? order by c
-- update-index
UPDATE {table} set k=k+1 where id=?
-- update-non-index
UPDATE {table} set c=? where id=?
-- delete
DELETE from {table} where id=?
-- insert
INSERT INTO {table} values(?,?,?,?)
-- insert-numbered-mysql
INSERT INTO {table} values(NULL,?,?,?)
-- insert-numbered-postgres
INSERT INTO {table} values(DEFAULT,?,?,?)
-- insert-numbered-sqlite
INSERT INTO {table} values(NULL,?,?,?)
-- procedure
CALL {procedure}(?,?)
-- lock-tables
LOCK TABLES {table} {lock}
-- unlock-tables
UNLOCK TABLES
