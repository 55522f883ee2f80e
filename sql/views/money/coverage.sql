-- Outcomes of each list's queries, by day, including nights on which nothing was bought.
create or replace view analysis.coverage as
select *
from analysis.coverage_between('-infinity', 'infinity');
comment on view analysis.coverage is 'Outcomes of each list''s queries, by day. The view distinguishes "not ranked" from "not answered" and "not asked". A query in several runs on a day is counted once, with the first of these outcomes that applies: answered, unreadable, archived, suspect, other_origin, open, unknown, failed, unaffordable, cancelled. A query counts as answered if an answer was reused for it, or if it was not asked and its last answer is used.';
comment on column analysis.coverage.planned is 'Number of queries planned for the day, including those not asked.';
comment on column analysis.coverage.answered is 'Number of planned queries with a readable answer from the selected origins: bought, reused, or the last answer to a query that was not asked.';
comment on column analysis.coverage.bought is 'Number of queries with an answer bought for the day.';
comment on column analysis.coverage.reused is 'Number of queries with an older answer that was recent enough to be reused.';
comment on column analysis.coverage.unreadable is 'Number of queries with an unusable answer: an unreadable body, a refusal that was charged, or an answer to another query.';
comment on column analysis.coverage.suspect is 'Number of queries whose answer is excluded because its run is suspect or the answer is quarantined.';
comment on column analysis.coverage.other_origin is 'Number of queries whose answer has an origin that the views do not show.';
comment on column analysis.coverage.archived is 'Number of queries whose answer is in the archive and therefore excluded.';
comment on column analysis.coverage.failed is 'Number of queries that failed permanently.';
comment on column analysis.coverage.unknown is 'Number of queries with an unknown outcome: the call may have been charged, but its answer could not be read.';
comment on column analysis.coverage.unaffordable is 'Number of queries not bought because buying them would have breached the credit floor or a budget.';
comment on column analysis.coverage.cancelled is 'Number of queries not bought because the run was cancelled.';
comment on column analysis.coverage.open is 'Number of queries not finished yet.';
comment on column analysis.coverage.share is 'Fraction of planned queries that were answered, from 0 to 1.';
comment on column analysis.coverage.newest is 'Time at which the newest answer used for the day was received.';
comment on column analysis.coverage.oldest is 'Time at which the oldest answer used for the day was received.';
comment on column analysis.coverage.not_asked is 'Number of queries that the list or its cadence skipped. The last answers to these queries are used, at no cost.';
comment on column analysis.coverage.outcome is 'Outcome of the day: ran, going (not finished yet) or cancelled. For a night without a run: missed, skipped or failed.';
comment on column analysis.coverage.credits_spent is 'Credits used by calls with a known cost in the day''s runs. The possible cost of calls with an unknown outcome is in costs.credits_unknown.';
comment on column analysis.coverage.why is 'Reason why answers are missing, or why the night is excluded from shares and trends; null if no answer is missing.';
