-- Rules for alerts about ranks and shares, and all alerts raised by these rules, with evidence.

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
comment on table alert_rules is 'Rules for alerts about ranks and shares, as loaded by npm run alerts -- load.';
comment on column alert_rules.name is 'Name of the rule.';
comment on column alert_rules.line is 'Line number of the rule in the rules file.';
comment on column alert_rules.what is 'Kind of change: entered, left, moved, crossed, share_fell, rival_passed, new_feature or wrong_page.';
comment on column alert_rules.threshold is 'Threshold for the change: a number of positions for moved, the last position of the top group (such as 10) for crossed, and a percentage for share_fell. Null for other kinds.';
comment on column alert_rules.direction is 'Direction of the changes to report: up or down; null for both.';
comment on column alert_rules.list is 'Name of the list whose queries the rule covers; null for all lists.';
comment on column alert_rules.tag is 'Label of the queries that the rule covers; null for all queries.';
comment on column alert_rules.domain is 'Domain that the rule covers: * for any domain, null for our own domains. For wrong_page, null means the domain of each query''s target page.';
comment on column alert_rules.rival is 'Domain that raises an alert when it overtakes our domain; * for any domain. Null for other kinds of change.';
comment on column alert_rules.feature is 'SERP feature to report; null for any SERP feature.';
comment on column alert_rules.confirm is 'Number of consecutive answers that must show the change.';
comment on column alert_rules.since is 'Time at which the rule took effect. Runs that were judged earlier are not checked against the rule.';

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
-- A rule has at most one open alert per subject.
create unique index alerts_standing on alerts (rule, subject) where recovered_at is null and withdrawn_at is null;
create unique index alerts_of_run on alerts (rule, subject, run_id) where withdrawn_at is null;
create index alerts_of_query on alerts (query_id) where withdrawn_at is null;
create index alerts_raised on alerts (raised_at);
create index alerts_ended on alerts (coalesce(recovered_at, withdrawn_at));
comment on table alerts is 'Alerts raised by rules, with the answers before and after the change as evidence. If an alert has ended, its recovery or withdrawal is recorded too.';
comment on column alerts.id is 'Identifier of the alert.';
comment on column alerts.rule is 'Name of the rule.';
comment on column alerts.what is 'Kind of change that the rule detects.';
comment on column alerts.subject is 'Subject of the alert. While an alert is open, the rule does not raise another alert about the same subject.';
comment on column alerts.list is 'List whose run raised the alert.';
comment on column alerts.tag is 'Label whose share of voice decreased; null for other kinds of change.';
comment on column alerts.query_id is 'Query to which the alert applies; null for a share-of-voice alert.';
comment on column alerts.domain is 'Domain to which the alert applies; null for a SERP feature alert.';
comment on column alerts.other_domain is 'Other domain involved: the domain that took or lost the position, the domain that gained the most share, or the rival that overtook our domain.';
comment on column alerts.feature is 'SERP feature that is new in the answer.';
comment on column alerts.direction is 'Direction of the change for alerts of kind moved or crossed: up or down.';
comment on column alerts.origin is 'Origin of the answers: live, test or sandbox.';
comment on column alerts.base_run_id is 'Run whose answer shows the state before the change; null for a share-of-voice alert.';
comment on column alerts.base_run_date is 'Run date of the answer before the change.';
comment on column alerts.base_search_id is 'Answer before the change; null for a share-of-voice alert.';
comment on column alerts.previous_position is 'Position in the answer before the change; null if that answer did not show the domain.';
comment on column alerts.previous_share is 'Share of voice before the change.';
comment on column alerts.run_id is 'Run whose answer confirmed the change.';
comment on column alerts.run_date is 'Run date of the answer that confirmed the change.';
comment on column alerts.search_id is 'Answer that confirmed the change; null for a share-of-voice alert.';
comment on column alerts.position is 'Position in the answer that confirmed the change; null if that answer did not show the domain.';
comment on column alerts.share is 'Share of voice on run_date.';
comment on column alerts.said is 'Text of the alert, on one line.';
comment on column alerts.question is 'Command that shows the change, such as npm run sql -- keyword.';
comment on column alerts.raised_at is 'Time at which the alert was raised. Alerts that were raised together have the same time.';
comment on column alerts.recovered_at is 'Time at which the recovery was detected; null until then.';
comment on column alerts.recovered_run_id is 'Run whose answer shows the recovery.';
comment on column alerts.recovered_run_date is 'Run date of the answer that shows the recovery.';
comment on column alerts.recovered_search_id is 'Answer that shows the recovery; null for a share-of-voice alert.';
comment on column alerts.recovered_position is 'Position in the answer that shows the recovery; null if that answer does not show the domain.';
comment on column alerts.recovered_share is 'Share of voice on recovered_run_date.';
comment on column alerts.withdrawn_at is 'Time at which the alert was withdrawn, because its run is suspect, one of its answers is quarantined, or its rule was changed.';
comment on column alerts.withdrawn_because is 'Reason why the alert was withdrawn.';
