-- What do the answers to a query call related, and since when?
-- :q (text of the query)
select related, related_queries is not null as ours, ordinal, first_seen, last_seen, observations
from analysis.related_edges
where q = :q
order by last_seen desc, ordinal, related;
