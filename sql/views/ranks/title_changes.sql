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
  select steps.query_id, steps.run_date, steps.previous_run_date, steps.fetched_at, titles.*
  from analysis.step_days as steps
  cross join lateral (
    select
      named.domain collate "C" as domain, found.url_key, found.position, found.previous_title, found.title,
      found.previous_snippet, found.snippet
    from unnest(steps.retitled) as named (domain)
    cross join lateral (
      select *
      from analysis.titles_of(steps.search_id, steps.previous_search_id) as kept
      where kept.domain is not distinct from named.domain
      offset 0
    ) as found
    union all
    select
      found.domain, found.url_key, found.position, found.previous_title, found.title, found.previous_snippet,
      found.snippet
    from analysis.titles_of(steps.search_id, steps.previous_search_id) as found
    where steps.retitled is null
  ) as titles
  where (steps.retitled <> '{}') is not false
) as changed
join queries on queries.id = changed.query_id;
comment on view analysis.title_changes is 'Pages whose titles differ between an answer and the previous answer. If an answer shows an address twice, the first of the two titles is used.';
comment on column analysis.title_changes.position is 'Position of the page in the answer.';
comment on column analysis.title_changes.previous_title is 'Title of the page in the previous answer.';
comment on column analysis.title_changes.title is 'Title of the page in the answer.';
comment on column analysis.title_changes.previous_snippet is 'Snippet of the page in the previous answer.';
comment on column analysis.title_changes.snippet is 'Snippet of the page in the answer.';
