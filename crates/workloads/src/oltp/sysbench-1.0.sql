-- create-mysql
CREATE TABLE {table} (
  id {id},
  k INTEGER NOT NULL DEFAULT '0',
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
-- insert-numbered-mysql
INSERT INTO {table} (id, k, c, pad) VALUES (0, ?, ?, ?)
-- insert-numbered-postgres
INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)
-- insert-numbered-sqlite
INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)
-- random-points
SELECT id, k, c, pad FROM {table} WHERE k IN ({points})
-- random-ranges
SELECT count(k) FROM {table} WHERE {ranges}
-- create-bulk
CREATE TABLE {table} (
  id INTEGER NOT NULL,
  k INTEGER NOT NULL DEFAULT '0',
  PRIMARY KEY (id)
)
-- insert-bulk
INSERT INTO {table} VALUES
