-- Ids from content
-- An id is the first 16 bytes of a hash of its row's values, joined by U+001F.

-- check: each query has the id of its key
-- The primary key makes ids unique, so the keys are unique as well.
select count(*) as violations
from queries t
where uuid_send(t.id) <> substring(sha256(convert_to('query' || chr(31) || t.key, 'UTF8')) for 16);

-- check: each query has the key of what it asks
-- PostgreSQL and JavaScript escape the same characters in JSON strings in the same way.
select count(*) as violations
from queries
where key <> encode(
  sha256(convert_to(
    '["1",' || to_json(q) || ','
    || coalesce(to_json(location)::text, 'null') || ','
    || coalesce(to_json(hl)::text, 'null') || ','
    || coalesce(to_json(gl)::text, 'null') || ','
    || num || ','
    || coalesce(to_json(device)::text, 'null') || ']',
    'UTF8'
  )),
  'hex'
);

-- check: each page has the id of its address
select count(*) as violations
from pages t
where uuid_send(t.id) <> substring(sha256(convert_to('page' || chr(31) || t.url, 'UTF8')) for 16);

-- check: each domain has the id of its host
select count(*) as violations
from domains t
where uuid_send(t.id) <> substring(sha256(convert_to('domain' || chr(31) || t.host, 'UTF8')) for 16);

-- check: each entity has the id of its name and type
select count(*) as violations
from entities t
where uuid_send(t.id) <> substring(
  sha256(convert_to('entity' || chr(31) || t.name || coalesce(chr(31) || t.type, ''), 'UTF8')) for 16
);

-- check: each topic has the id of its label
select count(*) as violations
from clusters t
where uuid_send(t.id) <> substring(sha256(convert_to('cluster' || chr(31) || t.label, 'UTF8')) for 16);

-- check: each related query has the id of its text
select count(*) as violations
from related_searches t
where uuid_send(t.id) <> substring(sha256(convert_to('related_search' || chr(31) || t.q, 'UTF8')) for 16);
