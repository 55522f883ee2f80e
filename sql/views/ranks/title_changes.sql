-- Pages whose title differs between an answer and the previous answer.
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
    steps.query_id, steps.run_date, steps.previous_run_date, steps.fetched_at, named.domain collate "C" as domain,
    titles.url_key, titles.position, titles.previous_title, titles.title, titles.previous_snippet, titles.snippet
  from analysis.step_days as steps
  cross join lateral unnest(steps.retitled) as named (domain)
  cross join lateral (
    select *
    from analysis.titles_of(steps.search_id, steps.previous_search_id) as found
    where found.domain is not distinct from named.domain
    offset 0
  ) as titles
  where steps.retitled <> '{}'
  union all
  select
    steps.query_id, steps.run_date, steps.previous_run_date, steps.fetched_at, shown.domain, pages.url_key, shown.position,
    before.title, shown.title, before.snippet, shown.snippet
  from analysis.step_days as steps
  join public.result_domains as shown on shown.search_id = steps.search_id
  join organic_results as before on before.search_id = steps.previous_search_id and before.page_id = shown.page_id
  join pages on pages.id = shown.page_id
  where steps.retitled is null
    and before.title is distinct from shown.title
    and not exists (
      select
      from organic_results as first
      where first.search_id = shown.search_id
        and first.page_id = shown.page_id
        and first.ordinal < shown.ordinal
    )
    and not exists (
      select
      from organic_results as first
      where first.search_id = before.search_id
        and first.page_id = before.page_id
        and first.ordinal < before.ordinal
    )
) as changed
join queries on queries.id = changed.query_id;
comment on view analysis.title_changes is 'Pages whose titles differ between an answer and the previous answer. If an answer shows an address twice, the first of the two titles is used.';
comment on column analysis.title_changes.position is 'Position of the page in the answer.';
comment on column analysis.title_changes.previous_title is 'Title of the page in the previous answer.';
comment on column analysis.title_changes.title is 'Title of the page in the answer.';
comment on column analysis.title_changes.previous_snippet is 'Snippet of the page in the previous answer.';
comment on column analysis.title_changes.snippet is 'Snippet of the page in the answer.';
