-- Reads the shares of the given domains for a label on one day, as in analysis.share_of_voice. Returns no row if no
-- query with the label was answered. Parameters: :date, :tag, :domains (text[]).
select
  :date::date as run_date, wanted.domain, coalesce(held.share_of_voice, 0) as share, asked.queries, asked.depth
from (
  select
    count(*) as queries,
    count(*) filter (where observations.evidence <> 'not asked') as fresh,
    coalesce(avg(nullif(observations.depth, 0)), 0)::float8 as depth
  from analysis.observations
  join analysis.query_tags using (query_id, run_date)
  where observations.run_date = :date::date
    and query_tags.run_date = :date::date
    and query_tags.tag = :tag
) as asked
cross join unnest(:domains::text[]) as wanted (domain)
-- A domain that does not rank for any query has no row, unless it is one of our domains.
left join analysis.share_of_voice as held
  on held.run_date = :date::date
  and held.tag = :tag
  and held.domain = wanted.domain
-- If all queries were skipped, no new share is computed.
where asked.fresh > 0;
