-- Items in the SERP features (ads, questions and other blocks) in each day's answers.
create or replace view analysis.features as
select
  observations.query_id,
  observations.q,
  observations.run_date,
  search_features.kind,
  row_number() over (
    partition by observations.query_id, observations.run_date, search_features.kind order by search_features.ordinal
  ) as place,
  counted.domain,
  exists (
    select
    from analysis.ours_on(observations.run_date) as ours
    where ours.domain = counted.domain
  ) as ours,
  search_features.text,
  pages.url,
  pages.url_key,
  search_features.extra,
  observations.fetched_at,
  observations.search_id,
  search_features.ordinal
from analysis.observations
join search_features on search_features.search_id = observations.search_id
left join domains as named on named.id = search_features.domain_id
left join pages on pages.id = search_features.page_id
left join domains as addressed on addressed.id = pages.domain_id and search_features.domain_id is null
cross join lateral (
  select case
    when coalesce(named.domain, addressed.domain) like any ((select analysis.site_patterns())::text[])
      then analysis.site_of(coalesce(named.domain, addressed.domain), pages.url_key)
    else coalesce(named.domain, addressed.domain)
  end as domain
) as counted;
comment on view analysis.features is 'One row for each item of each SERP feature in each observation. SERP features are the blocks of an answer that the API specification does not define. Results, entities, clusters and related searches are not SERP features. Answers stored before SERP features were supported have no rows until npm run reparse -- --all adds them.';
comment on column analysis.features.kind is 'Kind of SERP feature, as named in the answer.';
comment on column analysis.features.place is 'Index of the item within its SERP feature, starting at 1.';
comment on column analysis.features.ours is 'True if the domain was ours on the run date.';
comment on column analysis.features.text is 'Main text of the item: its title, question, text or name.';
comment on column analysis.features.extra is 'Other fields of the item, named as in the answer.';
comment on column analysis.features.ordinal is 'Index of the item among all SERP feature items in the answer, starting at 1.';
