-- Reads a page's position changes between two days, largest first. All spellings of the page's address are included.
-- Parameters: :key (key of the page), :since, :until (date).
with moves as materialized (
  select *
  from analysis.page_changes(:since::date, :until::date) as changes
  where changes.page = analysis.page_name(:key::text)
    -- The last known answer on a given day may be a month old.
    and changes.query_id = any (array(
      select analysis.queries_showing(
        array[analysis.page_name(:key::text), 'www.' || analysis.page_name(:key::text)],
        :since::date - 31,
        :until::date
      )
    ))
    and changes.position is distinct from changes.previous_position
  order by abs(changes.clicks_now - changes.clicks_before) desc, changes.q, changes.query_id
  limit 200
)
select
  moves.query_id as "queryId", moves.q, analysis.variant_of(moves.query_id) as variant,
  moves.previous_position as previous, moves.position, moves.previous_run_date as "previousDate",
  moves.run_date as "runDate", moves.clicks_now - moves.clicks_before as clicks, (
    select (array_agg(shown.domain order by shown.ordinal))[1]
    from analysis.observations
    join public.result_domains as shown on shown.search_id = observations.search_id
    where observations.query_id = moves.query_id
      and observations.run_date = moves.run_date
      and shown.position = moves.previous_position
  ) as taker
from moves
order by abs(moves.clicks_now - moves.clicks_before) desc, moves.q, moves.query_id;
