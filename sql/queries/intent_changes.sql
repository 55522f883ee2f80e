-- Whose intent or sentiment changed?
-- :day = (day of the run; empty: every day)
select
  run_date, q, kind, previous_label, label,
  analysis.variant_of(label_changes.query_id) as variant
from analysis.label_changes
where (:day::date is null or run_date = :day::date)
  and analysis.in_span(run_date)
order by run_date desc, q, kind, variant;
