-- Which queries have a word in them, and when were they last answered?
-- :word (a word or a part of one)
-- :rows = 50 (how many)
select queries.q, queries.hl, queries.gl, queries.device, queries.location, latest.fetched_at, latest.depth
from queries
left join analysis.latest on latest.query_id = queries.id
-- Not "ilike": a percent sign is a character here, as it is in a query.
where strpos(lower(queries.q), lower(:word)) > 0
  and (
    analysis.slice() is null
    or queries.id in (select query_id from analysis.query_labels where analysis.holds(labels))
  )
order by queries.q, queries.device
limit :rows::integer;
