-- Where did a domain stand for a query, day by day?
-- :q (text of the query)
-- :domain = (a domain; empty: ours)
select
  rank_history.run_date, rank_history.domain, rank_history.position, rank_history.url_key as page, rank_history.depth,
  rank_history.evidence,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Query by query, so that a question about one text does not read the answers to all.
cross join lateral (
  select *
  from analysis.rank_history
  where rank_history.query_id = queries.id
  offset 0
) as rank_history
where lower(queries.q) = lower(analysis.canonical(:q))
  and analysis.in_span(rank_history.run_date)
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(rank_history.run_date) as ours
      where ours.domain = rank_history.domain
    )
    else rank_history.domain = :domain
  end
order by domain, variant, rank_history.query_id, run_date;
