-- create-mysql
CREATE TABLE {table} (
  id INTEGER NOT NULL AUTO_INCREMENT,
  k INTEGER NOT NULL DEFAULT '0',
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) ENGINE=InnoDB
-- create-postgres
CREATE TABLE {table} (
  id SERIAL,
  k INTEGER NOT NULL DEFAULT '0',
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT '',
  PRIMARY KEY (id)
)
-- create-sqlite
CREATE TABLE {table} (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  k INTEGER NOT NULL DEFAULT 0,
  c CHAR(120) NOT NULL DEFAULT '',
  pad CHAR(60) NOT NULL DEFAULT ''
)
-- index
CREATE INDEX {index} ON {table}(k)
-- point-select
SELECT c FROM {table} WHERE id=?
-- simple-range
SELECT c FROM {table} WHERE id BETWEEN ? AND ?
-- sum-range
SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?
-- order-range
SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c
-- distinct-range
SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c
-- update-index
UPDATE {table} SET k=k+1 WHERE id=?
-- update-non-index
UPDATE {table} SET c=? WHERE id=?
-- delete
DELETE FROM {table} WHERE id=?
-- insert
INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)
