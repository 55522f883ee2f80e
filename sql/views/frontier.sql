-- Related texts that we never asked: where a list might grow.
create or replace view analysis.frontier as
select
  related.text as q,
  count(distinct latest.query_id) as sources,
  sum(coalesce(weights.weight, 1)) as weight,
  max(latest.fetched_at) as fetched_at,
  min(latest.q) as example
from (
  select id, analysis.canonical(q) as text
  from related_searches
) as related
join (
  select distinct search_id, related_search_id
  from search_related_searches
) as named on named.related_search_id = related.id
join analysis.latest on latest.search_id = named.search_id
left join analysis.latest_weights as weights on weights.query_id = latest.query_id
where related.text <> ''
  and not exists (
    select
    from queries
    where queries.q = related.text
  )
group by related.text;
comment on view analysis.frontier is 'Texts that the newest answers call related and that no query of ours has.';
comment on column analysis.frontier.q is 'The text, as a query would be written.';
comment on column analysis.frontier.sources is 'Queries whose newest answer names it.';
comment on column analysis.frontier.weight is 'Sum of the weights of these queries, as the lists have them now.';
comment on column analysis.frontier.example is 'One of these queries.';
