-- The start of a run is its newest ping of that id, found without reading the older ones.

DROP INDEX pings_rid;
CREATE INDEX pings_rid ON pings (check_id, rid, id) WHERE rid IS NOT NULL;
