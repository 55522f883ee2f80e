-- Finds the column of a table or view that holds the time of each row: the first of the given names that exists.
-- Parameters:
-- :relation (quoted name), :times (text[]).
select attname as name
from pg_attribute
where attrelid = :relation::regclass
  and attname = any (:times::text[])
  and atttypid in ('date'::regtype, 'timestamptz'::regtype)
  and not attisdropped
order by array_position(:times::text[], attname::text)
limit 1;
