-- Current labels of each query: the labels from its lists as last read, and the labels for its parameters.
create or replace view analysis.query_labels as
select
  queries.id as query_id,
  queries.q,
  array(
    select distinct label collate "C"
    from unnest(
      analysis.kinds_of(queries.device, queries.gl, queries.hl, queries.location) || coalesce(held.labels, '{}')
    ) as label
    order by 1
  ) as labels
from queries
left join (
  select list_queries.query_id, array_agg(label) as labels
  from list_queries
  join lists on lists.id = list_queries.list_id
  -- A query counts as removed if it was missing when its list was last read.
  join (
    select list_id, max(last_seen) as last_seen
    from list_queries
    group by list_id
  ) as readings on readings.list_id = list_queries.list_id and readings.last_seen = list_queries.last_seen
  cross join unnest(list_queries.tags || ('list=' || lists.name)) as label
  group by list_queries.query_id
) as held on held.query_id = queries.id;
comment on view analysis.query_labels is 'Current labels of each query: the labels from its lists as last read, list= for each list, and device=, country=, language= and place= for its parameters.';
comment on column analysis.query_labels.labels is 'Labels of the query, in byte order.';
