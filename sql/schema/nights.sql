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
  adaptive_days integer check (adaptive_days > 0),
  priority smallint check (priority between 1 and 9),
  part double precision check (part between 0 and 1)
);
comment on table schedules is 'Schedules as a scheduler last read them from the file of schedules.';
comment on column schedules.name is 'Name of the schedule.';
comment on column schedules.list is 'Name of the list that it buys.';
comment on column schedules.cron is 'When, as five cron fields.';
comment on column schedules.zone is 'The time zone in which the fields are meant.';
comment on column schedules.missed is 'What becomes of nights at which nobody was there: the latest runs, all run, or they are left out.';
comment on column schedules.overlap is 'Handling of a night while an older run of the list is still open: skip it, wait, or join that run.';
comment on column schedules.enabled is 'False: off in the file, refused, or gone from it.';
comment on column schedules.known_until is 'Every time up to here at which it was due has its row in nights.';
comment on column schedules.seen_at is 'When a scheduler last looked at it.';
comment on column schedules.max_age_ms is 'An answer younger than this many milliseconds is reused; null: as the settings say.';
comment on column schedules.budget is 'Most credits for one night; null: no limit of its own.';
comment on column schedules.adaptive_days is 'Longest interval in days that an adaptive schedule lets a query rest; null: it asks every query each night.';
comment on column schedules.priority is 'Priority of its queries that say none: 1 is bought first, 9 last; null: 5.';
comment on column schedules.part is 'The part of a night''s credits that its list is given when they are short; null: lists have no parts.';

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
  usual_from bigint,
  compared bigint not null default 0,
  turnover double precision,
  turnover_newest double precision,
  sameness double precision,
  repeats double precision,
  foreign_share double precision,
  stale double precision,
  alerts_severity text check (alerts_severity in ('low', 'medium', 'high')),
  alerts_headline text
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
comment on column night_health.compared is 'Answers that could be compared with an older answer to their query.';
comment on column night_health.turnover is 'How far the first ten moved since the last trusted answer of an earlier day: 0 for nothing, 1 when every page is new; the mean over these answers.';
comment on column night_health.turnover_newest is 'The same against the last answer of an earlier day, trusted or not: small where a change lasts.';
comment on column night_health.sameness is 'Mean share of the other queries of the run that show a page of the first ten as well; null for fewer than five queries.';
comment on column night_health.repeats is 'Mean share of the first ten places whose page stands higher in the same answer already.';
comment on column night_health.foreign_share is 'Mean share of the first ten that are on country domains of another country than the one asked for; null where no country was asked for.';
comment on column night_health.stale is 'Of the answers that changed since an earlier day, the share that shows exactly the pages of that day again; the greatest of the days before. Null for fewer than eight.';
comment on column night_health.alerts_severity is 'How much its rank alerts matter together: high (a quarter of its queries dropped), medium (a twentieth, or a share of voice) or low. Null: it raised none.';
comment on column night_health.alerts_headline is 'Its rank alerts in one sentence.';

create table night_evidence (
  run_id bigint not null references runs,
  rule text not null,
  score double precision not null,
  usual double precision,
  verdict text not null check (verdict in ('fine', 'notice', 'lasting', 'quarantine')),
  primary key (run_id, rule)
);
comment on table night_evidence is 'The score of every plausibility rule for each finished run, beside what is usual for its list.';
comment on column night_evidence.run_id is 'The run.';
comment on column night_evidence.rule is 'Name of the rule.';
comment on column night_evidence.score is 'The figure of the run.';
comment on column night_evidence.usual is 'Median of the runs that show what is usual for the list; null: fewer than three.';
comment on column night_evidence.verdict is 'fine, notice (odd, but it hides nothing), lasting (odd for the third time running, and usual from now on) or quarantine.';

create table quarantine (
  search_id bigint primary key,
  run_id bigint not null,
  reason text not null,
  score double precision
);
create index quarantine_of_run on quarantine (run_id);
comment on table quarantine is 'Answers that are stored and paid for, but not trusted: they take no part in ranks, shares, alerts, cadence and reuse until they are released.';
comment on column quarantine.search_id is 'The answer.';
comment on column quarantine.run_id is 'The run that bought it.';
comment on column quarantine.reason is 'Why it is not trusted, in a sentence.';
comment on column quarantine.score is 'Score of the rule that found it, 0 to 1; null: the whole run is not trusted, or a person decided.';

create table trust_marks (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  search_id bigint,
  trusted boolean not null,
  usual boolean not null default false,
  reason text not null,
  made_by text not null,
  made_at timestamptz not null default clock_timestamp(),
  undone_at timestamptz,
  undone_by text
);
create index trust_marks_of_run on trust_marks (run_id);
comment on table trust_marks is 'Decisions of people to trust a run or an answer, or not to. The newest that was not undone wins over the plausibility rules.';
comment on column trust_marks.id is 'The decision.';
comment on column trust_marks.run_id is 'The run.';
comment on column trust_marks.search_id is 'The answer; null: the whole run.';
comment on column trust_marks.trusted is 'True: its answers are trusted whatever the rules say. False: they are not.';
comment on column trust_marks.usual is 'True: later runs of the list are compared with this one and those after it.';
comment on column trust_marks.reason is 'Why, as the person wrote it.';
comment on column trust_marks.made_by is 'Who decided.';
comment on column trust_marks.made_at is 'When.';
comment on column trust_marks.undone_at is 'When it was undone; null: it stands.';
comment on column trust_marks.undone_by is 'Who undid it.';
