-- Queries for which another page ranks than the one that the list wants.
create or replace view analysis.wrong_pages as
select
  wanted.query_id,
  ranks.q,
  wanted.run_date,
  ranks.domain,
  ranks.position,
  ranks.url_key,
  wanted.target_key,
  wanted.target_url,
  target.position as target_position,
  ranks.depth,
  ranks.fetched_at
from (
  select distinct
    run_date, query_id, target_url, target_key,
    case
      when host like any ((select analysis.site_patterns())::text[]) then analysis.site_of(host, target_key)
      else host
    end as domain
  from (
    select
      run_date, query_id, target_url,
      analysis.url_key(target_url) as target_key,
      regexp_replace(substring(analysis.url_key(target_url) from '^[^/?:]*'), '^www\.(?=.)', '') collate "C" as host
    from analysis.memberships
    where target_url is not null
  ) as told
) as wanted
join analysis.ranks
  on ranks.query_id = wanted.query_id
  and ranks.run_date = wanted.run_date
  and ranks.domain = wanted.domain
left join lateral (
  select min(organic_results.position) as position
  from organic_results
  join pages on pages.id = organic_results.page_id
  where organic_results.search_id = ranks.search_id
    and analysis.page_name(pages.url_key) = analysis.page_name(wanted.target_key)
) as target on true
where analysis.page_name(ranks.url_key) <> analysis.page_name(wanted.target_key);
comment on view analysis.wrong_pages is 'Observations in which the best page of the target''s domain is not the target page that the list named for that run.';
comment on column analysis.wrong_pages.position is 'Best place of the domain.';
comment on column analysis.wrong_pages.url_key is 'Page at that place.';
comment on column analysis.wrong_pages.target_key is 'The page that was wanted.';
comment on column analysis.wrong_pages.target_url is 'Its address as the list gave it, written as browsers write it.';
comment on column analysis.wrong_pages.target_position is 'Place of the wanted page in the same answer; null: not in it.';
