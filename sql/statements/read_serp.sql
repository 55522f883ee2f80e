-- Reads the answer to a query on a day. Parameters: :query (uuid), :day (date).
select
  observed.run_date as "runDate", observed.search_id as search, searches.call_id as call, observed.depth,
  observed.evidence, observed.fetched_at as "fetchedAt", observed.origin, observed.intent, observed.sentiment,
  searches.credits_used as credits, octet_length(raw_answers.body) as bytes
from analysis.observations as observed
join searches on searches.id = observed.search_id
left join raw_answers on raw_answers.call_id = searches.call_id
where observed.query_id = :query
  and observed.run_date = :day::date;
