-- Queries with a rival in the first ten and none of a domain of ours in an answer at least twenty deep.
create or replace view analysis.content_gaps as
select
  latest.query_id,
  latest.q,
  ours.domain as own_domain,
  rivals.domain,
  rivals.position,
  coalesce(weights.weight, 1) as weight,
  latest.depth,
  latest.fetched_at
from analysis.latest
cross join (
  select distinct domain
  from own_domains
  where (since is null or since <= current_date)
    and (until is null or until >= current_date)
) as ours
join lateral (
  select
    result_domains.domain,
    min(result_domains.position) as position
  from public.result_domains
  where result_domains.search_id = latest.search_id
    and result_domains.position is not null
  group by result_domains.domain
) as rivals on rivals.domain <> ours.domain
left join analysis.latest_weights as weights on weights.query_id = latest.query_id
where latest.depth >= 20
  and rivals.position <= 10
  and not exists (
    select
    from public.result_domains
    where result_domains.search_id = latest.search_id
      and result_domains.domain = ours.domain
  );
comment on view analysis.content_gaps is 'Queries whose newest answer, at least twenty deep, shows another domain in the first ten and ours nowhere.';
comment on column analysis.content_gaps.own_domain is 'Domain of ours that is missing.';
comment on column analysis.content_gaps.domain is 'Domain that is there.';
comment on column analysis.content_gaps.position is 'Its best place.';
comment on column analysis.content_gaps.weight is 'Greatest weight of the query over all lists now; 1 where none names one.';
