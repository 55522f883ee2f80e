-- Queries whose target page is not the best-ranking page of its domain.
create or replace view analysis.wrong_pages as
select
  best.query_id,
  best.q,
  best.run_date,
  best.domain,
  best.place >> 20 as position,
  pages.url_key,
  best.target_key,
  best.target_url,
  target.position as target_position,
  best.depth,
  best.fetched_at
from (
  -- Looks up only the target page's domain, because reading all domains' best positions is slower.
  select
    wanted.run_date, wanted.query_id, wanted.target_url, wanted.target_key, wanted.domain, observations.search_id,
    observations.q, observations.depth, observations.fetched_at, listed.place
  from (
    select distinct
      told.run_date, told.query_id, told.target_url, keyed.target_key,
      case
        when hosted.host like any ((select analysis.site_patterns())::text[])
          then analysis.site_of(hosted.host, keyed.target_key)
        else hosted.host
      end as domain
    from analysis.memberships as told
    cross join lateral (
      select analysis.url_key(told.target_url) as target_key
      offset 0
    ) as keyed
    cross join lateral (
      select analysis.page_name(substring(keyed.target_key from '^[^/?:]*')) collate "C" as host
      offset 0
    ) as hosted
    where told.target_url is not null
  ) as wanted
  join analysis.observations
    on observations.query_id = wanted.query_id
    and observations.run_date = wanted.run_date
  cross join lateral analysis.domains_in(observations.search_id, array[wanted.domain]) as listed
  where listed.place is not null
) as best
-- The pages are looked up one at a time, because far fewer queries have a target page than the planner expects.
cross join lateral analysis.page_at(best.search_id, best.place) as pages
left join lateral (
  select min(organic_results.position) as position
  from organic_results
  join pages as others on others.id = organic_results.page_id
  where organic_results.search_id = best.search_id
    and analysis.page_name(others.url_key) = analysis.page_name(best.target_key)
) as target on true
where analysis.page_name(pages.url_key) <> analysis.page_name(best.target_key);
comment on view analysis.wrong_pages is 'Observations in which the best-ranking page of the target''s domain is not the target page from the list.';
comment on column analysis.wrong_pages.position is 'Best position of the domain.';
comment on column analysis.wrong_pages.url_key is 'Page at the best position.';
comment on column analysis.wrong_pages.target_key is 'Target page of the query, in the same form as url_key.';
comment on column analysis.wrong_pages.target_url is 'Address of the target page from the list, in the form that browsers use.';
comment on column analysis.wrong_pages.target_position is 'Position of the target page in the same answer; null if the answer does not show the page.';
