-- Pairs of queries whose newest answers of the same day show the same pages.
create or replace view analysis.serp_overlap as
select found.run_date, found.query_id, found.q, found.other_query_id, found.other_q, found.shared, found.jaccard
from (select analysis.newest_day() as night) as newest
cross join lateral analysis.serp_overlap_on(newest.night) as found;
comment on view analysis.serp_overlap is 'Pairs of queries of different texts and of one country, device, place and language whose first ten results share pages, on the newest full day. For another day: select * from analysis.serp_overlap_on(''2026-11-01'').';
comment on column analysis.serp_overlap.other_query_id is 'The other query.';
comment on column analysis.serp_overlap.other_q is 'Text of the other query.';
comment on column analysis.serp_overlap.shared is 'Pages that both show among their first ten.';
comment on column analysis.serp_overlap.jaccard is 'Shared pages divided by all pages of the two, 0 to 1.';
