-- Edges from queries to the related searches in their answers, from all observations.
create or replace view analysis.related_edges as
select
  edges.query_id,
  sources.q,
  edges.related,
  targets.related_queries,
  edges.ordinal,
  edges.first_seen,
  edges.last_seen,
  edges.observations
from (
  select
    query_id,
    related,
    (array_agg(ordinal order by run_date desc, ordinal))[1] as ordinal,
    min(run_date) as first_seen,
    max(run_date) as last_seen,
    count(*) as observations
  from (
    select
      observations.query_id, texts.related, observations.run_date, min(search_related_searches.ordinal) as ordinal
    from analysis.observations
    join search_related_searches on search_related_searches.search_id = observations.search_id
    join (select id, analysis.canonical(q) as related from related_searches) as texts
      on texts.id = search_related_searches.related_search_id
    group by observations.query_id, texts.related, observations.run_date
  ) as daily
  group by query_id, related
) as edges
left join (select q, count(*) as related_queries from queries group by q) as targets on targets.q = edges.related
left join queries as sources on sources.id = edges.query_id;
comment on view analysis.related_edges is 'Edges from a query to each related search in its answers, with the days on which the related search was seen.';
comment on column analysis.related_edges.related is 'Text of the related search, normalized in the same way as queries.';
comment on column analysis.related_edges.related_queries is 'Number of our queries with this text, for any language, place or device; null if no query has this text.';
comment on column analysis.related_edges.ordinal is 'Index of the related search in the last answer that shows it, starting at 1.';
comment on column analysis.related_edges.first_seen is 'First day on which the related search was seen.';
comment on column analysis.related_edges.last_seen is 'Last day on which the related search was seen.';
comment on column analysis.related_edges.observations is 'Number of days on which the related search was seen.';
