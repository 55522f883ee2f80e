-- Where did a domain stand for a query, day by day?
-- :q (text of the query)
-- :domain = (a domain; empty: ours)
select
  rank_history.run_date, rank_history.domain, rank_history.position, rank_history.url_key as page, rank_history.depth,
  rank_history.evidence,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.rank_history
join queries on queries.id = rank_history.query_id
where rank_history.q = :q
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = rank_history.domain
        and (own_domains.since is null or own_domains.since <= rank_history.run_date)
        and (own_domains.until is null or own_domains.until >= rank_history.run_date)
    )
    else rank_history.domain = :domain
  end
order by domain, variant, rank_history.query_id, run_date;
