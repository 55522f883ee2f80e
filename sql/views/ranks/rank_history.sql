-- Position of each domain for each query on each day, including "not ranked".
create or replace view analysis.rank_history as
select
  queries.id as query_id,
  queries.q,
  held.domain,
  held.run_date,
  held.position,
  pages.url_key,
  pages.url,
  held.depth,
  held.evidence,
  held.fetched_at,
  held.search_id
from queries
-- Reads the results query by query. A single join would sort all answers' results on disk several times.
cross join lateral (
  with served as materialized (
    select observations.run_date, observations.depth, observations.evidence, observations.fetched_at, observations.search_id
    from analysis.observations
    where observations.query_id = queries.id
  ),
  found as materialized (
    select served.run_date, shown.domain, shown.position, shown.place, shown.page_id
    from served
    cross join lateral analysis.shown_in(served.search_id) as shown
    where shown.position is not null
      and shown.domain is not null
  ),
  pairs as (
    select domain from found
    union
    select own_domains.domain from own_domains
  ),
  best as (
    select distinct on (run_date, domain) run_date, domain, position, page_id
    from found
    where place is not null
    order by run_date, domain, place
  )
  select
    pairs.domain, served.run_date, best.position, best.page_id, served.depth, served.evidence, served.fetched_at,
    served.search_id
  from served
  cross join pairs
  left join best on best.run_date = served.run_date and best.domain = pairs.domain
) as held
left join pages on pages.id = held.page_id;
comment on view analysis.rank_history is 'Position of each domain for each query on each day, including "not ranked". Each observation has a row for each of our domains and each domain that ever appeared in an answer to the query.';
comment on column analysis.rank_history.position is 'Best position of the domain; null if the domain is not ranked within depth. "Not ranked" is never shown as 0 or 100.';
comment on column analysis.rank_history.url_key is 'Page at the best position: its address without scheme, fragment, tracking parameters or trailing slash.';
comment on column analysis.rank_history.url is 'Full address of the page at the best position.';
comment on column analysis.rank_history.evidence is 'Source of the answer: bought (for that day), reused (an older answer that was recent enough) or not asked (the query was skipped that day, and the last answer is used). The fetched_at column shows how old the answer is.';
