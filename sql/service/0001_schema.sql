-- Tables of the search service: accounts, keys, requests, charges, and the pages that can be searched offline.

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
comment on table accounts is 'Credit balances. Several keys can share an account, so that a key can be replaced without interruption.';
comment on column accounts.id is 'Identifier of the account.';
comment on column accounts.plan is 'Name of the plan. A prepaid account receives its credits only once.';
comment on column accounts.quota is 'Credits granted for one period, or for the whole lifetime of a prepaid account.';
comment on column accounts.used is 'Credits used in the period, excluding reserved credits.';
comment on column accounts.renews is 'True if the credits are renewed on the first day of each month (UTC).';
comment on column accounts.period is 'First day of the month to which the used credits belong.';
comment on column accounts.rate is 'Maximum number of requests per second for all keys of the account together; null if the account has no limit of its own.';
comment on column accounts.created_at is 'Time at which the account was opened.';
comment on column accounts.held is 'Credits reserved for requests in progress.';

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
comment on table keys is 'API keys. Only the hashes of keys are stored, so the keys themselves cannot leak.';
comment on column keys.id is 'Identifier of the key.';
comment on column keys.account_id is 'Account to which the key''s requests are charged.';
comment on column keys.kind is 'Kind of key: live (returns real pages and uses credits) or test (returns invented answers free of charge).';
comment on column keys.hash is 'SHA-256 of the key. A key has 190 random bits, so a slower hash is not needed.';
comment on column keys.tail is 'Last four characters of the key, to distinguish keys in a list.';
comment on column keys.name is 'Purpose of the key, as described by the person who requested it.';
comment on column keys.created_at is 'Time at which the key was issued.';
comment on column keys.revoked_at is 'Time after which the key is refused. During the grace period of a replaced key, this time is in the future. Null if the key was neither revoked nor replaced.';
comment on column keys.last_used_at is 'Time at which the key was last used, to the minute. This time is also recorded for test keys.';

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
create index usage_with_query on usage (at) where q <> '';
comment on table usage is 'Requests made with live keys: one row for each request for which credits were reserved.';
comment on column usage.id is 'Identifier of the request.';
comment on column usage.key_id is 'Key with which the request was made.';
comment on column usage.account_id is 'Account that was charged.';
comment on column usage.at is 'Time at which the credits were reserved.';
comment on column usage.period is 'Month from which the credits were deducted. A refund is never credited to another month.';
comment on column usage.q is 'Text of the query; empty once the request is older than SERVICE_KEEP_QUERIES.';
comment on column usage.num is 'Number of results requested.';
comment on column usage.reserved is 'Credits reserved before the search.';
comment on column usage.credits is 'Credits charged; 0 for a failed request, null while the request is in progress.';
comment on column usage.status is 'HTTP status of the answer; null while the request is in progress.';
comment on column usage.ms is 'Duration of the search in milliseconds.';
comment on column usage.provider is 'Name of the provider that supplied the results.';

create table documents (
  id integer generated always as identity primary key,
  url text not null unique,
  title text not null,
  body text not null,
  words text not null,
  lang text not null,
  shipped boolean not null,
  added_at timestamptz not null default now(),
  -- Removes the site name, because the "Web APIs | MDN" suffix would make every MDN page look like
  -- a page about the web.
  head text not null generated always as (regexp_replace(title, ' [-|] .*$', '')) stored,
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
comment on table documents is 'Pages that can be found without network access.';
comment on column documents.id is 'Identifier of the page.';
comment on column documents.url is 'Address of the page.';
comment on column documents.title is 'Title of the page.';
comment on column documents.body is 'Content of the page as plain text.';
comment on column documents.words is 'Words from the title and the address; compound names are split into separate words. For example, a search for service worker finds serviceWorker.';
comment on column documents.lang is 'Language of the text, which determines how the words are stemmed.';
comment on column documents.shipped is 'True for pages in the bundled corpus. These pages are updated together with the corpus.';
comment on column documents.added_at is 'Time at which the page was added.';
comment on column documents.head is 'Title up to the first dash or bar, without the site name.';
comment on column documents.tsv is 'Text search vector. The title without the site name has the highest weight, the words column has the second highest, and the title and body have the lowest.';
comment on column documents.subject is 'True for a page about a single named subject, such as a feature or a specification.';

create table lexemes (
  word text primary key,
  documents integer not null
);
comment on table lexemes is 'Number of pages that contain each word. Rare words in a query are more significant than common words.';
comment on column lexemes.word is 'Stem of the word.';
comment on column lexemes.documents is 'Number of pages that contain the word.';

create table entities (
  key text primary key,
  name text not null,
  type text not null
);
comment on table entities is 'Names of page subjects that are recognised in queries and results.';
comment on column entities.key is 'Name in lower case.';
comment on column entities.name is 'Name in its usual spelling.';
comment on column entities.type is 'Type of the entity: Technology, Organization, Person, Place, Product, CreativeWork or Thing.';

create table corpora (
  name text primary key,
  sha256 text not null,
  documents integer not null,
  loaded_at timestamptz not null default now()
);
comment on table corpora is 'Corpus files that have been loaded.';
comment on column corpora.name is 'Name of the corpus. The bundled corpus is named "shipped".';
comment on column corpora.sha256 is 'SHA-256 of the file. The file is loaded again if its hash changes.';
comment on column corpora.documents is 'Number of pages in the file.';
comment on column corpora.loaded_at is 'Time at which the file was loaded.';

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
comment on table kept_answers is 'Requests with an Idempotency-Key, and their answers, which are stored for one day. Repeating a request causes neither a second search nor a second charge.';
comment on column kept_answers.account_id is 'Account that made the request. A request with any key of the account receives the stored answer.';
comment on column kept_answers.key is 'Idempotency-Key of the request.';
comment on column kept_answers.asked is 'SHA-256 of the request. A different request with the same Idempotency-Key is refused.';
comment on column kept_answers.claim is 'Token of the request that produces the answer. Later requests with the same Idempotency-Key wait for this answer.';
comment on column kept_answers.claimed_at is 'Time of the claim. A claim older than the longest possible request may be taken over by another request.';
comment on column kept_answers.answer is 'Answer as JSON; null while the request is in progress.';
comment on column kept_answers.used is 'Credits charged for the request.';
comment on column kept_answers.remaining is 'Credits left in the account after the request.';

create unlogged table rates (
  account_id bigint primary key references accounts,
  second bigint not null,
  taken integer not null
);
comment on table rates is 'Number of requests in the current second, for accounts with a rate limit. The table is unlogged; after a crash, counting starts again.';
comment on column rates.account_id is 'Account to which the limit applies.';
comment on column rates.second is 'Current second, as a Unix timestamp.';
comment on column rates.taken is 'Number of requests so far in the current second.';

create table spellings (
  word text primary key,
  documents integer not null,
  heads integer not null default 0
);
comment on table spellings is 'Unstemmed words from titles, addresses and texts, used to correct mistyped words.';
comment on column spellings.word is 'Word in lower case.';
comment on column spellings.documents is 'Number of pages that contain the word.';
comment on column spellings.heads is 'Number of pages whose title or address contains the word.';
