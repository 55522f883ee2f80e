-- The results of answers that were lent, each marked as lent.
create or replace view analysis.lent_results as
select
  lent.run_date,
  lent.list,
  lent.query_id,
  lent.q,
  true as lent,
  lent.lent_by,
  lent.lent_by_q,
  lent.search_id,
  lent.answered_on,
  lent.age_days,
  results.ordinal,
  results.position,
  pages.url,
  domains.host as domain,
  results.title,
  results.snippet
from analysis.lent
join organic_results as results on results.search_id = lent.search_id
left join pages on pages.id = results.page_id
left join domains on domains.id = results.domain_id;
comment on view analysis.lent_results is 'What analysis.lent lent, result by result. None of these rows is in analysis.results or in what rests on it: they tell what another query was answered.';
comment on column analysis.lent_results.list is 'Name of the list.';
comment on column analysis.lent_results.query_id is 'The query that was not asked.';
comment on column analysis.lent_results.q is 'Its text.';
comment on column analysis.lent_results.lent is 'Always true: nobody asked this query on this day.';
comment on column analysis.lent_results.lent_by is 'The query that lent its answer.';
comment on column analysis.lent_results.lent_by_q is 'Its text.';
comment on column analysis.lent_results.search_id is 'The answer that was lent.';
comment on column analysis.lent_results.answered_on is 'The night that it was bought for.';
comment on column analysis.lent_results.age_days is 'Days from then to this night.';
comment on column analysis.lent_results.domain is 'Host of the page.';
comment on column analysis.lent_results.ordinal is 'Place of the result in the answer, from 1.';
comment on column analysis.lent_results.position is 'Rank that the API reports; null when it reports none that can be read.';
