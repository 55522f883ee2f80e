-- Makes an expansion's unasked queries the only current queries in its list. A query is unasked if no run has
-- bought it. Parameters: :into (bigint, the list), :origin.
with unasked as (
  update expansions
  set run_id = null
  where list_id = :into
    and origin = :origin
    and (run_id is null or exists (
      select
      from tasks
      where tasks.run_id = expansions.run_id
        and tasks.query_id = expansions.query_id
        and tasks.state in ('unaffordable', 'cancelled')
    ))
  returning query_id
),
-- Time of this reading, later than all earlier readings of the list even if the clock was set back.
reading as materialized (
  select greatest(clock_timestamp(), max(last_seen) + interval '1 microsecond') as at
  from list_queries
  where list_id = :into
)
update list_queries
set last_seen = reading.at
from unasked, reading
where list_queries.list_id = :into
  and list_queries.query_id = unasked.query_id;
