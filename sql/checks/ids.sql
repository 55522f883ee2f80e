-- Ids derived from content
-- An id is the first 16 bytes of a SHA-256 hash. The hash is computed from the row's kind and
-- values, separated by U+001F. A page's first four bytes are from the hash of its url_key.

-- check: the id of each query is derived from its key
-- The primary key makes the ids unique, so the keys are unique too.
select count(*) as violations
from queries t
where uuid_send(t.id) <> substring(sha256(convert_to('query' || chr(31) || t.key, 'UTF8')) for 16);

-- check: the key of each query is derived from its parameters
-- PostgreSQL and JavaScript escape JSON strings in the same way.
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

-- check: the id of each page is derived from its address
select count(*) as violations
from pages t
where uuid_send(t.id)
  <> substring(sha256(convert_to('page' || chr(31) || t.url_key, 'UTF8')) for 4)
    || substring(sha256(convert_to('page' || chr(31) || t.url, 'UTF8')) from 5 for 12);

-- check: the id of each domain is derived from its host
select count(*) as violations
from domains t
where uuid_send(t.id) <> substring(sha256(convert_to('domain' || chr(31) || t.host, 'UTF8')) for 16);

-- check: the id of each entity is derived from its name and type
select count(*) as violations
from entities t
where uuid_send(t.id) <> substring(
  sha256(convert_to('entity' || chr(31) || t.name || coalesce(chr(31) || t.type, ''), 'UTF8')) for 16
);

-- check: the id of each topic is derived from its label
select count(*) as violations
from clusters t
where uuid_send(t.id) <> substring(sha256(convert_to('cluster' || chr(31) || t.label, 'UTF8')) for 16);

-- check: the id of each related search is derived from its text
select count(*) as violations
from related_searches t
where uuid_send(t.id) <> substring(sha256(convert_to('related_search' || chr(31) || t.q, 'UTF8')) for 16);
