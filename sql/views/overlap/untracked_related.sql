-- Related searches that are not queries yet: candidates for a list.
create or replace view analysis.untracked_related as
select
  named.text as q,
  count(*) as sources,
  sum(weights.weight) as weight,
  max(named.fetched_at) as fetched_at,
  min(named.q) as example
from (
  -- If an answer contains several spellings of a text, the query is still counted only once.
  select distinct latest.query_id, latest.q, latest.fetched_at, related.text
  from analysis.latest
  -- Reads each answer's related searches separately. A plain join would read the answers from all days.
  cross join lateral (
    select search_related_searches.related_search_id
    from search_related_searches
    where search_related_searches.search_id = latest.search_id
    offset 0
  ) as shown
  join (
    select id, analysis.canonical(q) as text
    from related_searches
    -- "offset 0" keeps the subquery separate, so that each text is normalized only once.
    offset 0
  ) as related on related.id = shown.related_search_id
  where related.text <> ''
    and related.text not in (select q from queries)
) as named
join analysis.latest_weights as weights on weights.query_id = named.query_id
group by named.text;
comment on view analysis.untracked_related is 'Related searches that are not queries yet, from the newest answers to the queries in the current lists.';
comment on column analysis.untracked_related.q is 'Text of the related search, normalized in the same way as queries.';
comment on column analysis.untracked_related.sources is 'Number of queries whose newest answer suggests the text.';
comment on column analysis.untracked_related.weight is 'Total weight, in the current lists, of the queries counted in sources.';
comment on column analysis.untracked_related.example is 'Text of a query whose newest answer suggests the related search.';
