-- Schedules, the outcome of each due time, and the plausibility of finished runs.

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
comment on table schedules is 'Schedules, as last read from the schedules file.';
comment on column schedules.name is 'Name of the schedule.';
comment on column schedules.list is 'Name of the list whose queries the schedule buys.';
comment on column schedules.cron is 'Due times of the schedule, as five cron fields.';
comment on column schedules.zone is 'Time zone of the cron fields.';
comment on column schedules.missed is 'Rule for missed nights: latest (only the newest night runs), all (every night runs) or skip (no night runs).';
comment on column schedules.overlap is 'Rule for a night that is due while an older run of the list is open: skip (the night does not run), queue (the night waits) or merge (the night joins the older run).';
comment on column schedules.enabled is 'False if the schedule is turned off, was rejected, or is no longer in the file.';
comment on column schedules.known_until is 'Time up to which every due time of the schedule has a row in nights.';
comment on column schedules.seen_at is 'Time at which a scheduler last checked the schedule.';
comment on column schedules.max_age_ms is 'Maximum age in milliseconds of an answer that is reused; null if the age in the settings applies.';
comment on column schedules.budget is 'Maximum number of credits for one night; null if the schedule sets no limit.';
comment on column schedules.adaptive_days is 'Longest interval in days of an adaptive cadence; null if the schedule asks every query each night.';
comment on column schedules.priority is 'Priority of queries for which the list sets no priority, from 1 (bought first) to 9 (last); null for the default of 5.';
comment on column schedules.part is 'Share of a night''s credits that the list gets if credits run short; null if lists have no shares.';

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
comment on table nights is 'Due times of schedules, with their outcomes. The primary key ensures that each due time is handled once.';
comment on column nights.schedule is 'Name of the schedule.';
comment on column nights.due_at is 'Due time of the night.';
comment on column nights.run_date is 'Run date: the local date that the night counts for.';
comment on column nights.outcome is 'Outcome of the night: ran, late, skipped (an older run was in progress), missed (no scheduler was running) or failed. Null while the night is waiting to run.';
comment on column nights.run_id is 'Run of the night; null if there is no run.';
comment on column nights.decided_at is 'Time at which the outcome was recorded.';
comment on column nights.note is 'Reason for the outcome, in one sentence.';

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
comment on table night_health is 'Figures for each finished run, and anomalies found by comparison with earlier runs of the list.';
comment on column night_health.run_id is 'Run to which the figures belong.';
comment on column night_health.judged_at is 'Time at which the run was judged. A reopened run is judged again when it ends. A run that was cancelled or never began has figures but no judgement.';
comment on column night_health.asked is 'Number of queries to be bought. Queries that reused an answer or were not asked are excluded.';
comment on column night_health.answered is 'Number of queries to be bought that have a readable answer.';
comment on column night_health.empty is 'Number of readable answers without any results.';
comment on column night_health.unreadable is 'Number of queries with an unusable answer: an unreadable body, a refusal that was charged, or an answer to another query.';
comment on column night_health.depth is 'Mean depth of the answers with results; null if no answer has results.';
comment on column night_health.price is 'Mean cost of an answer in credits; null if no answer reported its cost.';
comment on column night_health.minutes is 'Number of minutes from the creation of the run to its end, including pauses.';
comment on column night_health.workers is 'Number of workers that made calls for the run.';
comment on column night_health.reasons is 'Reasons why the run is suspect, with one sentence per reason; empty if the run is not suspect.';
comment on column night_health.alerts_at is 'Time of the last judgement before the run was checked for rank alerts; null if the run has not been checked, or if no rules existed.';
comment on column night_health.paused_minutes is 'Number of minutes during which none of the run''s queries could be bought, because the accounts were stopped, or because the run had ended and was reopened later.';
comment on column night_health.remarks is 'Other anomalies of the run, one sentence each. The run''s answers are shown despite these anomalies.';
comment on column night_health.usual_from is 'Oldest run with which later runs of the list are compared: this run if a person marked it as usual, or the first of three similar runs that end with this run. Null if later runs are compared with the same runs as before.';
comment on column night_health.compared is 'Number of answers that could be compared with an older answer to the same query.';
comment on column night_health.turnover is 'Mean change in the top ten since the last trusted answer from an earlier day, from 0 (no change) to 1 (every page is new).';
comment on column night_health.turnover_newest is 'Mean change in the top ten since the last answer, trusted or not, from an earlier day. A low value means that changes tend to last.';
comment on column night_health.sameness is 'Mean share of the run''s other queries whose answers also show a given top-ten page. Null if the run has fewer than five queries.';
comment on column night_health.repeats is 'Mean share of top-ten results whose page also has a better position in the same answer.';
comment on column night_health.foreign_share is 'Mean share of top-ten results on country domains other than the requested country''s; null if no country was requested.';
comment on column night_health.stale is 'Highest share, over all earlier days, of changed answers that show exactly the same pages as on that day. Null if no earlier day has at least eight changed answers.';
comment on column night_health.alerts_severity is 'Combined severity of the run''s rank alerts: high, medium or low; null if the run raised no alerts. high: at least five queries, and at least a quarter of all queries, dropped. medium: at least a twentieth of the queries dropped, or a share of voice decreased.';
comment on column night_health.alerts_headline is 'Summary of the run''s rank alerts, in one sentence.';

create table night_evidence (
  run_id bigint not null references runs,
  rule text not null,
  score double precision not null,
  usual double precision,
  verdict text not null check (verdict in ('fine', 'notice', 'lasting', 'quarantine')),
  primary key (run_id, rule)
);
comment on table night_evidence is 'Score of each plausibility rule for each finished run, and the usual score for the list.';
comment on column night_evidence.run_id is 'Run that was judged.';
comment on column night_evidence.rule is 'Name of the plausibility rule.';
comment on column night_evidence.score is 'Value that the rule computed for the run.';
comment on column night_evidence.usual is 'Median score of the runs used for comparison; null if there are fewer than three such runs.';
comment on column night_evidence.verdict is 'Verdict of the rule: fine, notice (odd, but the answers are shown), lasting (odd for the third time in a row; treated as usual from now on) or quarantine.';

create table quarantine (
  search_id bigint primary key,
  run_id bigint not null,
  reason text not null,
  score double precision
);
create index quarantine_of_run on quarantine (run_id);
comment on table quarantine is 'Answers that were paid for and stored but are not trusted. Until these answers are released, they do not count toward ranks, shares, alerts or cadence, and are not reused.';
comment on column quarantine.search_id is 'Answer that is not trusted.';
comment on column quarantine.run_id is 'Run that bought the answer.';
comment on column quarantine.reason is 'One-sentence reason why the answer is not trusted.';
comment on column quarantine.score is 'Score of the rule that flagged the answer, from 0 to 1. Null if the whole run is distrusted, or if a person made the decision.';

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
comment on table trust_marks is 'Decisions by people to trust or distrust a run or an answer. The newest decision that has not been undone overrides the plausibility rules.';
comment on column trust_marks.id is 'Identifier of the decision.';
comment on column trust_marks.run_id is 'Run to which the decision applies.';
comment on column trust_marks.search_id is 'Answer to which the decision applies; null for the whole run.';
comment on column trust_marks.trusted is 'True if the answers are trusted, false if they are distrusted, regardless of the plausibility rules.';
comment on column trust_marks.usual is 'True if later runs of the list are compared with this run and the runs after it.';
comment on column trust_marks.reason is 'Reason for the decision, in the person''s own words.';
comment on column trust_marks.made_by is 'Person who made the decision.';
comment on column trust_marks.made_at is 'Time of the decision.';
comment on column trust_marks.undone_at is 'Time at which the decision was undone; null while it is in force.';
comment on column trust_marks.undone_by is 'Person who undid the decision.';
