-- Which SERP features appear in each day's answers, and how many of these features contain our domains?
select run_date, kind, shown, round(share::numeric, 3) as share, ours, things, queries
from analysis.feature_days
where tag = '*'
  and analysis.in_span(run_date)
order by run_date desc, share desc, kind;

-- show intents: What are the intents and sentiments of a day's answers?
-- :day = newest (run date; newest: the newest full day)
select kind, label, queries, round(share::numeric, 3) as share
from analysis.label_mix
where tag = '*'
  and run_date = :day::date
order by kind, share desc nulls last, label;

-- show changes: For which queries did the intent or sentiment change?
-- :day = newest (the last day; newest: the newest full day)
-- :days = 0 (number of earlier days to include, if --since is not given)
select
  run_date, q, kind, previous_label, label,
  analysis.variant_of(label_changes.query_id) as variant
from analysis.label_changes
where run_date between analysis.since(:day::date, :days::integer) and :day::date
order by run_date desc, q, kind, variant;

-- show fields: Which undocumented fields do answers contain, and when was each field first seen?
-- unsliced: the fields depend on the API, not on queries
select place, field, api, first_seen, last_seen, answers
from analysis.unannounced_fields
where analysis.in_span(last_seen::date)
order by first_seen desc, place, field;

-- show curve: What share of clicks does each position get, according to the current click curve?
-- unsliced: the click curve does not depend on queries
select
  coalesce(nullif(current_setting('querymill.ctr_curve', true), ''), 'default') as curve,
  position,
  ctr
from analysis.ctr
order by position;
