-- Domains whose best page for a query changes back and forth.
create or replace view analysis.page_switches as
select
  query_id,
  max(q) as q,
  domain,
  count(*) as switches,
  (
    select count(distinct analysis.page_name(page))
    from unnest(array_agg(url_key) || array_agg(previous_url_key)) as page
  ) as pages,
  array_agg(url_key order by run_date) as url_keys,
  min(run_date) as first_run_date,
  max(run_date) as run_date
from (
  select steps.query_id, queries.q, steps.run_date, moves.domain, moves.url_key, moves.previous_url_key
  from analysis.step_days as steps
  cross join lateral (
    select named.domain, found.url_key, found.previous_url_key
    from unnest(steps.switched) as named (domain)
    cross join lateral (
      select kept.url_key, kept.previous_url_key
      from analysis.moves_of(
        steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth, array[named.domain]
      ) as kept
      offset 0
    ) as found
    union all
    select found.domain, found.url_key, found.previous_url_key
    from analysis.moves_of(steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth) as found
    where steps.switched is null
      and analysis.page_name(found.url_key) <> analysis.page_name(found.previous_url_key)
  ) as moves
  join queries on queries.id = steps.query_id
  where steps.previous_search_id is not null
    -- Is also true if the domains are unknown.
    and (steps.switched <> '{}') is not false
) as switched
where run_date > (select analysis.newest_day())
    - coalesce(nullif(current_setting('querymill.window_days', true), ''), '30')::integer
group by query_id, domain
having count(*) >= 2;
comment on view analysis.page_switches is 'Queries for which the best page of a domain changed at least twice between consecutive answers. The period is the last 30 days, or the number of days in the querymill.window_days setting.';
comment on column analysis.page_switches.switches is 'Number of times that the best page changed from one answer to the next.';
comment on column analysis.page_switches.pages is 'Number of different pages that were the domain''s best page.';
comment on column analysis.page_switches.url_keys is 'Best page after each switch, oldest first.';
comment on column analysis.page_switches.first_run_date is 'Day of the first switch.';
comment on column analysis.page_switches.run_date is 'Day of the last switch.';
