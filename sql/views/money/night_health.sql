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
comment on view analysis.night_health is 'Statistics for each finished run, and whether its answers are plausible. A run is suspect if it differs from earlier runs of its list in a way that suggests a fault during the night rather than a change in the results. Answers from a suspect run are excluded from shares and trends, unless querymill.suspects is ''show''. A run that was cancelled, or for which nothing was asked, is not judged.';
comment on column analysis.night_health.kind is 'Kind of run: manual or nightly.';
comment on column analysis.night_health.suspect is 'True if the run''s answers are excluded from shares and trends.';
comment on column analysis.night_health.reasons is 'Reasons why the run is suspect, one sentence each.';
comment on column analysis.night_health.remarks is 'Other unusual properties of the run, one sentence each: its price, its duration or a lasting change. These properties do not exclude the run''s answers.';
comment on column analysis.night_health.asked is 'Number of queries to be bought.';
comment on column analysis.night_health.answered is 'Number of queries to be bought for which a readable answer was received.';
comment on column analysis.night_health.empty is 'Number of readable answers without any result.';
comment on column analysis.night_health.unreadable is 'Number of queries with an unusable answer: an unreadable body, a refusal that was charged, or an answer to another query.';
comment on column analysis.night_health.depth is 'Mean depth of the answers that are not empty.';
comment on column analysis.night_health.price is 'Mean number of credits used per answer.';
comment on column analysis.night_health.minutes is 'Minutes from the creation of the run to its end, including pauses.';
comment on column analysis.night_health.paused_minutes is 'Minutes of the run during which nothing could be bought, because its accounts were stopped or because it had ended and was not yet reopened. These minutes do not count when the duration is judged.';
comment on column analysis.night_health.workers is 'Number of workers that made calls for the run.';
comment on column analysis.night_health.usual_from is 'Id of the first of three similar runs, of which this run is the third. The difference between these three runs and earlier runs now counts as normal. Null if no change became lasting with this run.';
comment on column analysis.night_health.judged_at is 'Time at which the run was judged.';
