-- does: least and greatest value of an indexed column

-- run:
\set most :rows - 1
-- expect: value :most
SELECT MAX(place) AS most, MIN(place) AS least FROM micro_detail;
