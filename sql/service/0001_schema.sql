-- All tables of the search service: accounts and keys, requests and charges, and the pages of the offline search.

create table accounts (
  id bigint generated always as identity primary key,
  plan text not null,
  quota bigint not null check (quota >= 0),
  used bigint not null default 0 check (used >= 0 and used <= quota),
  renews boolean not null,
  period date not null default date_trunc('month', now() at time zone 'utc')::date,
  rate integer check (rate > 0),
  created_at timestamptz not null default now(),
  held bigint not null default 0 check (held >= 0),
  constraint accounts_covered check (used + held <= quota)
) with (fillfactor = 50);
comment on table accounts is 'Balances of credits. Several keys can draw on one, so that a key can be changed without a gap.';
comment on column accounts.id is 'Number of the account.';
comment on column accounts.plan is 'Name of the plan; prepaid: as many credits as were given, once.';
comment on column accounts.quota is 'Credits of one period, or of the whole life of a prepaid account.';
comment on column accounts.used is 'Credits used in the period, without those set aside.';
comment on column accounts.renews is 'True: the credits come back on the first day of each month (UTC).';
comment on column accounts.period is 'First day of the month that used counts.';
comment on column accounts.rate is 'Most requests a second of all its keys together; null: no limit of its own.';
comment on column accounts.created_at is 'When the account was opened.';
comment on column accounts.held is 'Credits set aside for requests in work.';

create table keys (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  kind text not null check (kind in ('live', 'test')),
  hash bytea not null unique,
  tail text not null,
  name text not null default '',
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  last_used_at timestamptz
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
comment on column keys.last_used_at is 'When the key was last used, to the minute; for test keys too.';

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
create index usage_by_age on usage using brin (at);
comment on table usage is 'One line for each request of a live key that got as far as its credits.';
comment on column usage.id is 'Number of the request.';
comment on column usage.key_id is 'The key that asked.';
comment on column usage.account_id is 'The account that was charged.';
comment on column usage.at is 'When the credits were set aside.';
comment on column usage.period is 'Month they were taken from: a refund never flows into another one.';
comment on column usage.q is 'The query.';
comment on column usage.num is 'Results asked for.';
comment on column usage.reserved is 'Credits set aside before the search.';
comment on column usage.credits is 'Credits charged in the end, 0 for a failure; null while in work.';
comment on column usage.status is 'Status of the answer; null while in work.';
comment on column usage.ms is 'How long the search took.';
comment on column usage.provider is 'Where the results came from.';

create table documents (
  id integer generated always as identity primary key,
  url text not null unique,
  title text not null,
  body text not null,
  words text not null,
  lang text not null,
  shipped boolean not null,
  added_at timestamptz not null default now(),
  -- Without the site's name: "Web APIs | MDN" would make every page of MDN one about the web.
  head text not null generated always as (
    regexp_replace(title, '( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$', '')
  ) stored,
  tsv tsvector not null generated always as (
    setweight(to_tsvector(
      case lang
        when 'de' then 'german'::regconfig
        when 'es' then 'spanish'::regconfig
        when 'fr' then 'french'::regconfig
        when 'it' then 'italian'::regconfig
        when 'nl' then 'dutch'::regconfig
        when 'pt' then 'portuguese'::regconfig
        when 'en' then 'english'::regconfig
        else 'simple'::regconfig
      end, regexp_replace(title, '( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$', '')), 'A')
    || setweight(to_tsvector('english'::regconfig, words), 'B')
    || setweight(to_tsvector(
      case lang
        when 'de' then 'german'::regconfig
        when 'es' then 'spanish'::regconfig
        when 'fr' then 'french'::regconfig
        when 'it' then 'italian'::regconfig
        when 'nl' then 'dutch'::regconfig
        when 'pt' then 'portuguese'::regconfig
        when 'en' then 'english'::regconfig
        else 'simple'::regconfig
      end, title || ' ' || body), 'D')
  ) stored,
  subject boolean not null default false
);
create index documents_head on documents (left(lower(head), 100));
create index documents_tsv on documents using gin (tsv);
comment on table documents is 'Pages that can be found without a network.';
comment on column documents.id is 'Number of the page.';
comment on column documents.url is 'Address of the page.';
comment on column documents.title is 'Its title.';
comment on column documents.body is 'What it says, as plain text.';
comment on column documents.words is 'Words of title and address, taken apart: serviceWorker is found by service worker.';
comment on column documents.lang is 'Language of the text, which decides how its words are stemmed.';
comment on column documents.shipped is 'True for pages of the corpus that comes with the program; they change with it.';
comment on column documents.added_at is 'When the page was added.';
comment on column documents.head is 'The title without the name of its site.';
comment on column documents.tsv is 'What is searched: title without its site first, then words, then title and body.';
comment on column documents.subject is 'True for a page that names what it is about: a feature, a specification.';

create table lexemes (
  word text primary key,
  documents integer not null
);
comment on table lexemes is 'How many pages hold a word: rare words tell more about what is meant.';
comment on column lexemes.word is 'The stem of the word.';
comment on column lexemes.documents is 'Pages that hold it.';

create table entities (
  key text primary key,
  name text not null,
  type text not null
);
comment on table entities is 'Names that pages are about, recognised in queries and results.';
comment on column entities.key is 'The name in lower case.';
comment on column entities.name is 'The name as it is written.';
comment on column entities.type is 'Technology, Organization, Person, Place, Product, CreativeWork or Thing.';

create table corpora (
  name text primary key,
  sha256 text not null,
  documents integer not null,
  loaded_at timestamptz not null default now()
);
comment on table corpora is 'Which corpus files are loaded.';
comment on column corpora.name is 'shipped: the one that comes with the program.';
comment on column corpora.sha256 is 'Of the file: another one is loaded again.';
comment on column corpora.documents is 'Pages that it held.';
comment on column corpora.loaded_at is 'When it was loaded.';

create table kept_answers (
  account_id bigint not null references accounts,
  key text not null,
  asked bytea not null,
  claim uuid not null,
  claimed_at timestamptz not null default now(),
  answer text,
  used integer,
  remaining bigint,
  primary key (account_id, key)
);
create index kept_answers_by_age on kept_answers (claimed_at);
comment on table kept_answers is 'Requests with an Idempotency-Key, and their answers for a day: asked again, they are neither searched nor charged again.';
comment on column kept_answers.account_id is 'The account that asked: another key of it, too, is given the answer.';
comment on column kept_answers.key is 'The Idempotency-Key.';
comment on column kept_answers.asked is 'sha256 of what was asked: the same key for something else is refused.';
comment on column kept_answers.claim is 'The one request that may answer; who comes later waits for it.';
comment on column kept_answers.claimed_at is 'Since when it may: after the longest time that a request can last, another takes its place.';
comment on column kept_answers.answer is 'What was found, as JSON; null while in work.';
comment on column kept_answers.used is 'Credits charged.';
comment on column kept_answers.remaining is 'Credits that were left then.';

create unlogged table rates (
  account_id bigint primary key references accounts,
  second bigint not null,
  taken integer not null
);
comment on table rates is 'Requests of the present second of accounts with a limit. Not logged: after a crash a new second begins.';
comment on column rates.account_id is 'The account.';
comment on column rates.second is 'The second, counted from 1970.';
comment on column rates.taken is 'Requests in it so far.';

create table usage_sums (
  key_id bigint not null references keys,
  day date not null,
  requests bigint not null,
  failures bigint not null,
  credits bigint not null,
  primary key (key_id, day)
);
comment on table usage_sums is 'What remains of requests whose queries were kept long enough.';
comment on column usage_sums.key_id is 'The key that asked.';
comment on column usage_sums.day is 'Day in UTC.';
comment on column usage_sums.requests is 'Requests that got as far as their credits.';
comment on column usage_sums.failures is 'Those among them that failed, and were refunded.';
comment on column usage_sums.credits is 'Credits charged.';

create table spellings (
  word text primary key,
  documents integer not null,
  heads integer not null default 0
);
comment on table spellings is 'Words of titles, addresses and texts as they are written: what a mistyped word can have meant.';
comment on column spellings.word is 'The word in lower case.';
comment on column spellings.documents is 'Pages that hold it.';
comment on column spellings.heads is 'Those whose title or address holds it.';

create view usage_by_day as
select
  days.key_id,
  keys.kind,
  keys.tail,
  days.day,
  sum(days.requests)::bigint as requests,
  sum(days.failures)::bigint as failures,
  sum(days.credits)::bigint as credits
from (
  select
    key_id,
    (at at time zone 'utc')::date as day,
    count(*) as requests,
    count(*) filter (where status <> 200) as failures,
    coalesce(sum(credits), 0) as credits
  from usage
  group by key_id, (at at time zone 'utc')::date
  union all
  select key_id, day, requests, failures, credits
  from usage_sums
) as days
join keys on keys.id = days.key_id
group by days.key_id, keys.kind, keys.tail, days.day;
comment on view usage_by_day is 'Requests and credits of each key on each day (UTC).';
comment on column usage_by_day.key_id is 'The key.';
comment on column usage_by_day.kind is 'live or test.';
comment on column usage_by_day.tail is 'Last four characters of the key.';
comment on column usage_by_day.day is 'Day in UTC.';
comment on column usage_by_day.requests is 'Requests that got as far as their credits.';
comment on column usage_by_day.failures is 'Those among them that failed, and were refunded.';
comment on column usage_by_day.credits is 'Credits charged.';
