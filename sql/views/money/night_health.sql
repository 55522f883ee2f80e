-- What each finished run came to, and whether it can be believed.
create or replace view analysis.night_health as
select
  runs.run_date,
  lists.name as list,
  runs.id as run_id,
  runs.kind,
  runs.suspect,
  health.reasons,
  health.asked,
  health.answered,
  health.empty,
  health.unreadable,
  health.depth,
  health.price,
  health.minutes,
  health.workers,
  health.judged_at
from night_health as health
join runs on runs.id = health.run_id
join lists on lists.id = runs.list_id;
comment on view analysis.night_health is 'What each finished run came to. A run that differs from the earlier ones of its list in a way that says more about the night than about the results is suspect: its answers are in no share and no trend, unless querymill.suspects is ''show''.';
comment on column analysis.night_health.kind is 'manual or nightly.';
comment on column analysis.night_health.suspect is 'True when its answers are left out.';
comment on column analysis.night_health.reasons is 'Why, a sentence each.';
comment on column analysis.night_health.asked is 'Queries that were to be bought.';
comment on column analysis.night_health.answered is 'Of these, queries with a readable answer.';
comment on column analysis.night_health.empty is 'Of these answers, those without any result.';
comment on column analysis.night_health.unreadable is 'Queries whose answer cannot be read.';
comment on column analysis.night_health.depth is 'Mean of the greatest positions of the answers that are not empty.';
comment on column analysis.night_health.price is 'Mean of the credits that an answer used.';
comment on column analysis.night_health.minutes is 'From the making of the run to its end.';
comment on column analysis.night_health.workers is 'Workers that made its calls.';
comment on column analysis.night_health.judged_at is 'When it was judged.';
