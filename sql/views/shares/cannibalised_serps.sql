-- Answers that show several pages of one domain.
create or replace view analysis.cannibalised_serps as
select
  query_id,
  max(q) as q,
  run_date,
  domain,
  count(distinct analysis.page_name(url_key)) as pages,
  array_agg(position order by position, ordinal) as positions,
  array_agg(url_key order by position, ordinal) as url_keys,
  max(depth) as depth
from analysis.results
where domain is not null
  and position is not null
  and url_key is not null
group by query_id, run_date, domain
having min(analysis.page_name(url_key)) <> max(analysis.page_name(url_key));
comment on view analysis.cannibalised_serps is 'Answers that show two or more pages of one domain. These pages may compete with each other for clicks.';
comment on column analysis.cannibalised_serps.pages is 'Number of different pages of the domain.';
comment on column analysis.cannibalised_serps.positions is 'Positions of the pages, best first.';
comment on column analysis.cannibalised_serps.url_keys is 'Pages, ordered by position.';
