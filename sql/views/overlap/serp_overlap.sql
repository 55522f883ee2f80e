-- Pairs of queries whose answers share pages on the newest day.
create or replace view analysis.serp_overlap as
select found.run_date, found.query_id, found.q, found.other_query_id, found.other_q, found.shared, found.jaccard
from (select analysis.newest_day() as night) as newest
cross join lateral analysis.serp_overlap_on(newest.night) as found;
comment on view analysis.serp_overlap is 'Pairs of queries whose top 10 results share pages, on the newest full day. Both queries have the same country, device, place and language, but different texts. For another day: select * from analysis.serp_overlap_on(''2026-11-01'').';
comment on column analysis.serp_overlap.other_query_id is 'Id of the other query.';
comment on column analysis.serp_overlap.other_q is 'Text of the other query.';
comment on column analysis.serp_overlap.shared is 'Number of pages in the top 10 results of both queries.';
comment on column analysis.serp_overlap.jaccard is 'Number of shared pages divided by the number of distinct pages in the top 10 results of both queries, from 0 to 1.';
