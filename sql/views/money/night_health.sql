-- What each finished run came to, and whether it can be believed.
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
comment on view analysis.night_health is 'What each finished run came to. A run that differs from the earlier ones of its list in a way that says more about the night than about the results is suspect: its answers are in no share and no trend, unless querymill.suspects is ''show''. A run that was cancelled, or of which nothing was asked, is not judged.';
comment on column analysis.night_health.kind is 'manual or nightly.';
comment on column analysis.night_health.suspect is 'True when its answers are left out.';
comment on column analysis.night_health.reasons is 'Why, a sentence each.';
comment on column analysis.night_health.remarks is 'What else is odd about it, a sentence each: price, duration, or a change that lasts. It hides nothing.';
comment on column analysis.night_health.asked is 'Queries that were to be bought.';
comment on column analysis.night_health.answered is 'Of these, queries with a readable answer.';
comment on column analysis.night_health.empty is 'Of these answers, those without any result.';
comment on column analysis.night_health.unreadable is 'Queries whose answer cannot be used: its body cannot be read, the API refused the query and charged for it, or it answers another query.';
comment on column analysis.night_health.depth is 'Mean of the greatest positions of the answers that are not empty.';
comment on column analysis.night_health.price is 'Mean of the credits that an answer used.';
comment on column analysis.night_health.minutes is 'From the making of the run to its end, pauses included.';
comment on column analysis.night_health.paused_minutes is 'Minutes of these in which nothing of it could be bought: its accounts stood still, or it had ended and was not yet opened again. Its duration is judged without them.';
comment on column analysis.night_health.workers is 'Workers that made its calls.';
comment on column analysis.night_health.usual_from is 'The first of three runs alike, of which this one is the third: a change that has become the usual. Null: nothing changed for good with this run.';
comment on column analysis.night_health.judged_at is 'When it was judged.';
