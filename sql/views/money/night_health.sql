-- Statistics for each finished run, and whether its answers are plausible.
create or replace view analysis.night_health as
select
  runs.run_date,
  lists.name as list,
  runs.id as run_id,
  runs.kind,
  runs.suspect,
  health.reasons,
  health.remarks,
  health.asked,
  health.answered,
  health.empty,
  health.unreadable,
  health.depth,
  health.price,
  health.minutes,
  health.paused_minutes,
  health.workers,
  health.usual_from,
  health.judged_at
from night_health as health
join runs on runs.id = health.run_id
join lists on lists.id = runs.list_id;
comment on view analysis.night_health is 'Statistics for each finished run, and whether its answers are plausible. A run is suspect if it differs from earlier runs of its list in a way that suggests a fault during the night rather than a change in the results. Answers from a suspect run are excluded from shares and trends, unless querymill.suspects is ''show''. A run is not judged if it was cancelled or if no queries were asked.';
comment on column analysis.night_health.kind is 'Kind of run: manual or nightly.';
comment on column analysis.night_health.suspect is 'True if the run''s answers are excluded from shares and trends.';
comment on column analysis.night_health.reasons is 'Reasons why the run is suspect, with one sentence per reason.';
comment on column analysis.night_health.remarks is 'Other anomalies of the run (its price, its duration or a lasting change), one sentence each. Remarks do not exclude the run''s answers.';
comment on column analysis.night_health.asked is 'Number of queries to be bought.';
comment on column analysis.night_health.answered is 'Number of queries to be bought that have a readable answer.';
comment on column analysis.night_health.empty is 'Number of readable answers without any results.';
comment on column analysis.night_health.unreadable is 'Number of queries with an unusable answer: an unreadable body, a refusal that was charged, or an answer to another query.';
comment on column analysis.night_health.depth is 'Mean depth of the non-empty answers.';
comment on column analysis.night_health.price is 'Mean number of credits per answer.';
comment on column analysis.night_health.minutes is 'Number of minutes from the creation of the run to its end, including pauses.';
comment on column analysis.night_health.paused_minutes is 'Number of minutes during which nothing could be bought for the run, because the accounts were stopped, or because the run had ended and was reopened later. Paused minutes are excluded when the duration is judged.';
comment on column analysis.night_health.workers is 'Number of workers that made calls for the run.';
comment on column analysis.night_health.usual_from is 'If this run is the third of three similar runs, the id of the first run. The difference between these three runs and earlier runs is now treated as normal. Null if the run is not the third similar run.';
comment on column analysis.night_health.judged_at is 'Time at which the run was judged.';
