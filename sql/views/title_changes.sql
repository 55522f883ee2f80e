-- Pages whose title changed between an answer and the one before it.
create or replace view analysis.title_changes as
select
  steps.query_id,
  steps.q,
  steps.run_date,
  pages.url_key,
  organic_results.position,
  before.title as previous_title,
  organic_results.title,
  before.snippet as previous_snippet,
  organic_results.snippet,
  steps.previous_run_date,
  steps.fetched_at
from analysis.steps
join organic_results on organic_results.search_id = steps.search_id
join organic_results as before
  on before.search_id = steps.previous_search_id
  and before.page_id = organic_results.page_id
join pages on pages.id = organic_results.page_id
where before.title is distinct from organic_results.title;
comment on view analysis.title_changes is 'Pages that an answer and the one before it show under the same address with different titles.';
comment on column analysis.title_changes.position is 'Place now.';
comment on column analysis.title_changes.previous_title is 'Title before.';
comment on column analysis.title_changes.title is 'Title now.';
comment on column analysis.title_changes.previous_snippet is 'Snippet before.';
comment on column analysis.title_changes.snippet is 'Snippet now.';
