-- Accounts with their credits, the keys that draw on them, and one line for each request that was charged.

create table accounts (
  id bigint generated always as identity primary key,
  plan text not null,
  quota bigint not null check (quota >= 0),
  used bigint not null default 0 check (used >= 0 and used <= quota),
  renews boolean not null,
  period date not null default date_trunc('month', now() at time zone 'utc')::date,
  rate integer check (rate > 0),
  created_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table accounts is 'Balances of credits. Several keys can draw on one, so that a key can be changed without a gap.';
comment on column accounts.id is 'Number of the account.';
comment on column accounts.plan is 'Name of the plan; prepaid: as many credits as were given, once.';
comment on column accounts.quota is 'Credits of one period, or of the whole life of a prepaid account.';
comment on column accounts.used is 'Credits used in the period, with those set aside for requests in work.';
comment on column accounts.renews is 'True: the credits come back on the first day of each month (UTC).';
comment on column accounts.period is 'First day of the month that used counts.';
comment on column accounts.rate is 'Most requests a second of one key; null: no limit.';
comment on column accounts.created_at is 'When the account was opened.';

create table keys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  kind text not null check (kind in ('live', 'test')),
  hash bytea not null unique,
  tail text not null,
  name text not null default '',
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
comment on table keys is 'Keys as hashes: what is not stored cannot leak.';
comment on column keys.id is 'Number of the key.';
comment on column keys.account_id is 'The account it draws on.';
comment on column keys.kind is 'live: finds real pages and uses credits; test: invented answers, free of charge.';
comment on column keys.hash is 'sha256 of the key. A key holds 190 random bits: no slower hash is needed.';
comment on column keys.tail is 'Last four characters, to tell keys apart in a list.';
comment on column keys.name is 'What the key is for, in the words of who asked for it.';
comment on column keys.created_at is 'When the key was issued.';
comment on column keys.revoked_at is 'When the key was revoked, for good; null while it is valid.';

create table usage (
  id bigint generated always as identity primary key,
  key_id bigint not null references keys,
  account_id bigint not null references accounts,
  at timestamptz not null default now(),
  period date not null,
  q text not null,
  num integer not null,
  reserved integer not null check (reserved >= 0),
  credits integer check (credits >= 0 and credits <= reserved),
  status integer,
  ms integer,
  provider text
);
create index usage_of_key on usage (key_id, at);
create index usage_open on usage (at) where credits is null;
comment on table usage is 'One line for each request of a live key that got as far as its credits.';
comment on column usage.id is 'Number of the request.';
comment on column usage.key_id is 'The key that asked.';
comment on column usage.account_id is 'The account that was charged.';
comment on column usage.at is 'When the credits were set aside.';
comment on column usage.period is 'Month they were taken from: a refund never flows into another one.';
comment on column usage.q is 'The query; feeds related searches once two accounts have asked it.';
comment on column usage.num is 'Results asked for.';
comment on column usage.reserved is 'Credits set aside before the search.';
comment on column usage.credits is 'Credits charged in the end, 0 for a failure; null while in work.';
comment on column usage.status is 'Status of the answer; null while in work.';
comment on column usage.ms is 'How long the search took.';
comment on column usage.provider is 'Where the results came from.';

create view usage_by_day as
select
  usage.key_id,
  keys.kind,
  keys.tail,
  (usage.at at time zone 'utc')::date as day,
  count(*) as requests,
  count(*) filter (where usage.status <> 200) as failures,
  coalesce(sum(usage.credits), 0)::bigint as credits
from usage
join keys on keys.id = usage.key_id
group by usage.key_id, keys.kind, keys.tail, (usage.at at time zone 'utc')::date;
comment on view usage_by_day is 'Requests and credits of each key on each day (UTC).';
comment on column usage_by_day.key_id is 'The key.';
comment on column usage_by_day.kind is 'live or test.';
comment on column usage_by_day.tail is 'Last four characters of the key.';
comment on column usage_by_day.day is 'Day in UTC.';
comment on column usage_by_day.requests is 'Requests that got as far as their credits.';
comment on column usage_by_day.failures is 'Those among them that failed, and were refunded.';
comment on column usage_by_day.credits is 'Credits charged.';
