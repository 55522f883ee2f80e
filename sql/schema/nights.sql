-- Schedules, what became of each of their times, and whether a finished run can be believed.

create table schedules (
  name text primary key,
  list text not null,
  cron text not null,
  zone text not null,
  missed text not null check (missed in ('latest', 'all', 'skip')),
  overlap text not null check (overlap in ('skip', 'queue', 'merge')),
  enabled boolean not null,
  known_until timestamptz not null,
  seen_at timestamptz not null,
  max_age_ms bigint check (max_age_ms >= 0),
  budget bigint check (budget >= 0),
  adaptive_days integer check (adaptive_days > 0)
);
comment on table schedules is 'Schedules as a scheduler last read them from the file of schedules.';
comment on column schedules.name is 'Name of the schedule.';
comment on column schedules.list is 'Name of the list that it buys.';
comment on column schedules.cron is 'When, as five cron fields.';
comment on column schedules.zone is 'The time zone in which the fields are meant.';
comment on column schedules.missed is 'What becomes of nights at which nobody was there: the latest runs, all run, or they are left out.';
comment on column schedules.overlap is 'What becomes of a night while an older run of the list is going: it is left out, waits, or joins that run.';
comment on column schedules.enabled is 'False: off in the file, refused, or gone from it.';
comment on column schedules.known_until is 'Every time up to here at which it was due has its row in nights.';
comment on column schedules.seen_at is 'When a scheduler last looked at it.';
comment on column schedules.max_age_ms is 'An answer younger than this many milliseconds is reused; null: as the settings say.';
comment on column schedules.budget is 'Most credits for one night; null: no limit of its own.';
comment on column schedules.adaptive_days is 'Longest interval in days that an adaptive schedule lets a query rest; null: it asks every query each night.';

create table nights (
  schedule text not null,
  due_at timestamptz not null,
  run_date date not null,
  outcome text check (outcome in ('ran', 'late', 'skipped', 'missed', 'failed')),
  run_id bigint references runs,
  decided_at timestamptz not null default now(),
  note text,
  primary key (schedule, due_at)
);
create index nights_waiting on nights (schedule, due_at) where outcome is null;
create index nights_of_run on nights (run_id);
create index nights_decided on nights (decided_at);
comment on table nights is 'What became of each time a schedule was due: the key makes each happen once.';
comment on column nights.schedule is 'Name of the schedule.';
comment on column nights.due_at is 'When it was due.';
comment on column nights.run_date is 'The local date it counts for.';
comment on column nights.outcome is 'ran, late, skipped (another run was going), missed (nobody was there) or failed.';
comment on column nights.run_id is 'The run that it made, if it made one.';
comment on column nights.decided_at is 'When the outcome was written down.';
comment on column nights.note is 'Why, in a sentence.';

create table night_health (
  run_id bigint primary key references runs,
  judged_at timestamptz not null default clock_timestamp(),
  asked bigint not null,
  answered bigint not null,
  empty bigint not null,
  unreadable bigint not null,
  depth double precision,
  price double precision,
  minutes double precision not null,
  workers bigint not null,
  reasons text[] not null,
  alerts_at timestamptz,
  paused_minutes double precision not null default 0,
  remarks text[] not null default '{}',
  usual_from bigint
);
create index night_health_age on night_health (judged_at);
comment on table night_health is 'What each finished run came to, and what is odd about it beside the earlier runs of its list.';
comment on column night_health.run_id is 'The run.';
comment on column night_health.judged_at is 'When it was judged; a run that goes on is judged again when it has ended again. Of a run that was cancelled or never began the figures are kept, without a judgement.';
comment on column night_health.asked is 'Queries that were to be bought: without those whose older answers were young enough.';
comment on column night_health.answered is 'Of these, queries with a readable answer.';
comment on column night_health.empty is 'Of these answers, those without any result.';
comment on column night_health.unreadable is 'Queries whose answer cannot be used: its body cannot be read, the API refused the query and charged for it, or it answers another query.';
comment on column night_health.depth is 'Mean of the greatest positions of the answers that are not empty; null without any.';
comment on column night_health.price is 'Mean of the credits that an answer used; null where none told.';
comment on column night_health.minutes is 'From the making of the run to its end, pauses included.';
comment on column night_health.workers is 'Workers that made its calls.';
comment on column night_health.reasons is 'Why it is suspect, a sentence each; none: it is not.';
comment on column night_health.alerts_at is 'The judgement after which rank alerts were looked for; null: not yet, or there was no rule.';
comment on column night_health.paused_minutes is 'Minutes of these in which nothing of it could be bought: its accounts stood still, or it had ended and was not yet opened again.';
comment on column night_health.remarks is 'What else is odd about it, a sentence each; its answers are shown all the same.';
comment on column night_health.usual_from is 'The first of three runs alike, of which this one is the third: later runs are compared with these three and those after them. Null: nothing changed for good with this run.';
