-- Pages whose title changed between an answer and the one before it.
create or replace view analysis.title_changes as
select
  changed.query_id,
  queries.q,
  changed.run_date,
  changed.url_key,
  changed.position,
  changed.previous_title,
  changed.title,
  changed.previous_snippet,
  changed.snippet,
  changed.previous_run_date,
  changed.fetched_at,
  changed.domain
from (
  select
    steps.query_id, steps.run_date, steps.previous_run_date, steps.fetched_at, named.domain, titles.url_key, titles.position,
    titles.previous_title, titles.title, titles.previous_snippet, titles.snippet
  from analysis.step_days as steps
  cross join lateral unnest(steps.retitled) as named (domain)
  -- Only answers of a domain that is asked about are compared.
  cross join lateral (
    select *
    from analysis.titles_of(steps.search_id, steps.previous_search_id) as found
    where found.domain is not distinct from named.domain
    offset 0
  ) as titles
  where steps.retitled <> '{}'
  union all
  select
    steps.query_id, steps.run_date, steps.previous_run_date, steps.fetched_at, titles.domain, titles.url_key, titles.position,
    titles.previous_title, titles.title, titles.previous_snippet, titles.snippet
  from analysis.step_days as steps
  cross join lateral analysis.titles_of(steps.search_id, steps.previous_search_id) as titles
  where steps.retitled is null
) as changed
join queries on queries.id = changed.query_id;
comment on view analysis.title_changes is 'Pages that an answer and the previous one show under the same address with different titles. If an answer shows the address twice, its first title counts.';
comment on column analysis.title_changes.position is 'Position in the answer.';
comment on column analysis.title_changes.previous_title is 'Title in the previous answer.';
comment on column analysis.title_changes.title is 'Title in the answer.';
comment on column analysis.title_changes.previous_snippet is 'Snippet in the previous answer.';
comment on column analysis.title_changes.snippet is 'Snippet in the answer.';
