-- Queries with a rival in the top 10 and a domain of ours nowhere in the top 20, or in as many as there are.
create or replace view analysis.content_gaps as
with ours as materialized (
  select distinct domain
  from analysis.ours_on(current_date)
)
select
  latest.query_id,
  latest.q,
  ours.domain as own_domain,
  rivals.domain,
  rivals.position,
  weights.weight,
  latest.depth,
  latest.fetched_at
from analysis.latest
cross join lateral (
  select array_agg(result_domains.domain) as domains
  from analysis.shown_in(latest.search_id) as result_domains
  where coalesce(result_domains.position, result_domains.ordinal) <= 20
) as near
cross join ours
join lateral (
  select
    result_domains.domain,
    min(result_domains.position) as position
  from public.result_domains
  where result_domains.search_id = latest.search_id
    and result_domains.position is not null
  group by result_domains.domain
) as rivals on rivals.domain not in (select domain from ours)
-- A query that left all lists is nobody's gap any more.
join analysis.latest_weights as weights on weights.query_id = latest.query_id
where latest.depth >= 10
  and rivals.position <= 10
  and array_position(near.domains, ours.domain) is null;
comment on view analysis.content_gaps is 'Queries of the current lists for which another domain ranks in the top 10 and ours is not in the top 20. It covers newest answers with a depth of at least ten. If an answer is shallower than twenty, ours is missing from all of it; depth shows how far it reaches.';
comment on column analysis.content_gaps.own_domain is 'Our domain that is missing.';
comment on column analysis.content_gaps.domain is 'Other domain that ranks in the top 10.';
comment on column analysis.content_gaps.position is 'Best position of the other domain.';
comment on column analysis.content_gaps.weight is 'Highest weight of the query over all current lists. A list that gives none counts as 1.';
