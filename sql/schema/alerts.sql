-- Rules of what is to be told of ranks and shares, and every alert that they raised, with its evidence.

create table alert_rules (
  name text primary key,
  line integer not null,
  what text not null check (
    what in ('entered', 'left', 'moved', 'crossed', 'share_fell', 'rival_passed', 'new_feature', 'wrong_page')
  ),
  threshold double precision check (threshold > 0),
  direction text check (direction in ('up', 'down')),
  list text,
  tag text,
  domain text,
  rival text,
  feature text,
  confirm integer not null default 1 check (confirm between 1 and 7),
  since timestamptz not null default clock_timestamp()
);
comment on table alert_rules is 'What is to be told of ranks and shares, as npm run alerts -- load read it.';
comment on column alert_rules.name is 'Its name.';
comment on column alert_rules.line is 'Its line in the file.';
comment on column alert_rules.what is 'entered, left, moved, crossed, share_fell, rival_passed, new_feature or wrong_page.';
comment on column alert_rules.threshold is 'Places for moved, the last place of the top for crossed, percent for share_fell; else null.';
comment on column alert_rules.direction is 'up or down: only moves that way; null: both.';
comment on column alert_rules.list is 'Name of the list whose queries it is for; null: all.';
comment on column alert_rules.tag is 'Label of the queries it is for; null: all.';
comment on column alert_rules.domain is 'Domain; * is any, null is ours (for wrong_page: that of the page that the list names).';
comment on column alert_rules.rival is 'Domain that passes ours; * is any.';
comment on column alert_rules.feature is 'Part of an answer that is to be told; null: any.';
comment on column alert_rules.confirm is 'Answers running that have to show the change.';
comment on column alert_rules.since is 'When it came into force: runs judged before are not looked at.';

create table alerts (
  id bigint generated always as identity primary key,
  rule text not null,
  what text not null,
  subject text not null,
  list text,
  tag text,
  query_id uuid,
  domain text,
  other_domain text,
  feature text,
  direction text,
  origin text not null,
  base_run_id bigint,
  base_run_date date not null,
  base_search_id bigint,
  previous_position bigint,
  previous_share double precision,
  run_id bigint not null references runs,
  run_date date not null,
  search_id bigint,
  position bigint,
  share double precision,
  said text not null,
  question text not null,
  raised_at timestamptz not null default now(),
  recovered_at timestamptz,
  recovered_run_id bigint,
  recovered_run_date date,
  recovered_search_id bigint,
  recovered_position bigint,
  recovered_share double precision,
  withdrawn_at timestamptz,
  withdrawn_because text
);
-- Quiet until recovered: whoever looks, one alert of a rule stands for each subject.
create unique index alerts_standing on alerts (rule, subject) where recovered_at is null and withdrawn_at is null;
-- A night that is looked at again raises nothing again.
create unique index alerts_of_run on alerts (rule, subject, run_id) where withdrawn_at is null;
create index alerts_of_query on alerts (query_id) where withdrawn_at is null;
create index alerts_raised on alerts (raised_at);
create index alerts_ended on alerts (coalesce(recovered_at, withdrawn_at));
comment on table alerts is 'Every alert that a rule raised, with both answers as evidence, and what became of it.';
comment on column alerts.id is 'The alert.';
comment on column alerts.rule is 'Name of the rule.';
comment on column alerts.what is 'What the rule looks for.';
comment on column alerts.subject is 'What it is about: a rule is quiet about it until the alert has recovered.';
comment on column alerts.list is 'List of the run after which it was raised.';
comment on column alerts.tag is 'Label whose share fell; null for other rules.';
comment on column alerts.query_id is 'The query; null for a share.';
comment on column alerts.domain is 'The domain; null for a feature.';
comment on column alerts.other_domain is 'Who took the place or gained most; for a gain whose place it was; the rival that passed.';
comment on column alerts.feature is 'Part of the answer that is new.';
comment on column alerts.direction is 'up or down, for moved and crossed.';
comment on column alerts.origin is 'live, test or sandbox: where the answers come from.';
comment on column alerts.base_run_id is 'Run of the answer before; null for a share.';
comment on column alerts.base_run_date is 'Day of the answer before.';
comment on column alerts.base_search_id is 'The answer before; null for a share.';
comment on column alerts.previous_position is 'Place before; null: not in that answer.';
comment on column alerts.previous_share is 'Share of voice before.';
comment on column alerts.run_id is 'Run of the answer that confirmed it.';
comment on column alerts.run_date is 'Its day.';
comment on column alerts.search_id is 'The answer that confirmed it; null for a share.';
comment on column alerts.position is 'Place in it; null: not in that answer.';
comment on column alerts.share is 'Share of voice on that day.';
comment on column alerts.said is 'The line for people.';
comment on column alerts.question is 'The question of the library that shows it, as one would type it.';
comment on column alerts.raised_at is 'When it was raised; equal for all that were found together.';
comment on column alerts.recovered_at is 'When it was found that it is no longer so; null while it stands.';
comment on column alerts.recovered_run_id is 'Run of the answer that shows it.';
comment on column alerts.recovered_run_date is 'Its day.';
comment on column alerts.recovered_search_id is 'The answer that shows it; null for a share.';
comment on column alerts.recovered_position is 'Place in that answer; null: not in it.';
comment on column alerts.recovered_share is 'Share of voice on that day.';
comment on column alerts.withdrawn_at is 'When it was taken back, because its night turned out suspect or its rule was changed.';
comment on column alerts.withdrawn_because is 'Why it was taken back.';
