-- Pages whose title changed between an answer and the one before it.
create or replace view analysis.title_changes as
select
  steps.query_id,
  queries.q,
  steps.run_date,
  pages.url_key,
  result_domains.position,
  before.title as previous_title,
  result_domains.title,
  before.snippet as previous_snippet,
  result_domains.snippet,
  steps.previous_run_date,
  steps.fetched_at,
  result_domains.domain
from analysis.step_days as steps
join queries on queries.id = steps.query_id
join public.result_domains on result_domains.search_id = steps.search_id
join organic_results as before
  on before.search_id = steps.previous_search_id
  and before.page_id = result_domains.page_id
join pages on pages.id = result_domains.page_id
where before.title is distinct from result_domains.title
  -- An answer may show an address twice, with two titles: the first one counts, or the two would be held against each other.
  and not exists (
    select
    from organic_results as first
    where first.search_id = result_domains.search_id
      and first.page_id = result_domains.page_id
      and first.ordinal < result_domains.ordinal
  )
  and not exists (
    select
    from organic_results as first
    where first.search_id = before.search_id
      and first.page_id = before.page_id
      and first.ordinal < before.ordinal
  );
comment on view analysis.title_changes is 'Pages that an answer and the previous one show under the same address with different titles. If an answer shows the address twice, its first title counts.';
comment on column analysis.title_changes.position is 'Position in the answer.';
comment on column analysis.title_changes.previous_title is 'Title in the previous answer.';
comment on column analysis.title_changes.title is 'Title in the answer.';
comment on column analysis.title_changes.previous_snippet is 'Snippet in the previous answer.';
comment on column analysis.title_changes.snippet is 'Snippet in the answer.';
