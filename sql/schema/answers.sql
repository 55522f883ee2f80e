-- Answers: their bodies as they came, and what they say as rows.
-- No foreign key is enforced here: it would double the cost of storing an answer. Ids of dictionary rows are derived from their
-- content, so that integrity holds by construction. declared_keys.sql names the keys for people and diagrams.

create table raw_answers (
  call_id bigint primary key,
  status integer not null,
  received_at timestamptz not null default now(),
  truncated boolean not null default false,
  body bytea not null
);
create index raw_answers_age on raw_answers using brin (received_at);
comment on table raw_answers is 'Every body received, whatever its status, as it came. May be pruned by age: nothing else depends on it.';
comment on column raw_answers.call_id is 'The call that was answered.';
comment on column raw_answers.status is 'Status of the response.';
comment on column raw_answers.received_at is 'When it was received.';
comment on column raw_answers.truncated is 'True when the body was cut off, by the network or by the limit on its size.';
comment on column raw_answers.body is 'The bytes as received, after content decoding.';

create table prunings (
  id bigint generated always as identity primary key,
  received_before timestamptz not null,
  bodies bigint not null default 0,
  begun_at timestamptz not null default clock_timestamp()
);
comment on table prunings is 'Removals of raw bodies by age: a body that is missing and younger than all of these was not pruned.';
comment on column prunings.id is 'Number of the removal.';
comment on column prunings.received_before is 'Bodies received before this were removed, and no others.';
comment on column prunings.bodies is 'How many went.';
comment on column prunings.begun_at is 'When it was begun.';

create table searches (
  id bigint primary key,
  call_id bigint not null unique,
  task_id bigint not null,
  query_id uuid not null,
  fetched_at timestamptz not null,
  depth bigint,
  credits_remaining bigint,
  credits_used integer,
  result_count integer not null default 0,
  replaced integer not null default 0,
  origin text not null check (origin in ('live', 'test', 'sandbox')),
  api text not null,
  intent text,
  sentiment text,
  parse_error text,
  extra jsonb,
  as_given jsonb,
  archived boolean not null default false
);
create index searches_of_query on searches (query_id, fetched_at desc);
-- The answers of a task without reading every answer: grows at its end, as rows are stored.
create index searches_of_task on searches (task_id);
-- What an API says beyond what was announced is found by this. It holds nothing while the API says nothing more.
create index searches_extra_idx on searches (id) where extra is not null;
comment on table searches is 'Answers received. A query may come to have several.';
comment on column searches.id is 'Number of the answer: that of its call.';
comment on column searches.call_id is 'The call that was answered.';
comment on column searches.task_id is 'The task it was bought for.';
comment on column searches.query_id is 'The query that was asked.';
comment on column searches.fetched_at is 'When the answer was received.';
comment on column searches.depth is 'Greatest position in the answer: what "not in the top k" is measured against.';
comment on column searches.credits_remaining is 'Balance after the call, as the answer says.';
comment on column searches.credits_used is 'Cost of the call, as the answer says.';
comment on column searches.result_count is 'Organic results in the answer.';
comment on column searches.replaced is 'Characters that Postgres cannot hold (NUL, lone surrogates), replaced by U+FFFD.';
comment on column searches.origin is 'live, test (a test key) or sandbox (the bundled service).';
comment on column searches.api is 'Host of the API that answered, with its path if it has one; bundled for the bundled service.';
comment on column searches.intent is 'Intent label of the API.';
comment on column searches.sentiment is 'Sentiment label of the API.';
comment on column searches.parse_error is 'Why the answer has no rows: its body could not be read, the API refused the query and charged for it, it answers another query, or the tables refused its rows; null when none of this is so.';
comment on column searches.extra is 'Fields that the interface does not name, under their own names.';
comment on column searches.as_given is 'Named fields as they came, where the columns cannot hold them exactly.';
comment on column searches.archived is 'True while what the answer says lies in the archive: its results, entities, topics, related queries, blocks and body are in files, and not in the tables.';

create table domains (
  id uuid primary key,
  host text not null,
  site text,
  -- Stored, so that no view repeats the rule, and compared byte by byte, which sorts several times faster than a language.
  domain text collate "C" not null
    generated always as (
      case when lower(host) like 'www._%' then substr(lower(host), 5) else lower(host) end
    ) stored
);
comment on table domains is 'Host names of results.';
comment on column domains.id is 'Derived from the host.';
comment on column domains.host is 'Host name as the answers give it.';
comment on column domains.site is 'Registrable domain of the host; null for addresses and names without one.';
comment on column domains.domain is 'The host in lower case without a leading www.: what analysts call a domain.';

create table pages (
  id uuid primary key,
  domain_id uuid,
  url text not null,
  url_key text not null
);
comment on table pages is 'Addresses of results.';
comment on column pages.id is 'Derived from the address.';
comment on column pages.domain_id is 'Host of the address; null when it has none.';
comment on column pages.url is 'The address as the answers give it.';
comment on column pages.url_key is 'The address without scheme, fragment, tracking parameters and closing slash: equal for spellings of one page.';

create table organic_results (
  search_id bigint not null,
  page_id uuid,
  domain_id uuid,
  position bigint,
  ordinal integer not null,
  title text,
  snippet text,
  extra jsonb,
  as_given jsonb,
  primary key (search_id, ordinal)
);
-- As searches_extra_idx.
create index organic_results_extra_idx on organic_results (search_id) where extra is not null;
comment on table organic_results is 'Organic results of answers, one row each, in the order of the answer.';
comment on column organic_results.search_id is 'The answer.';
comment on column organic_results.page_id is 'The address; null when the result has none.';
comment on column organic_results.domain_id is 'The host that the result names; null when it has none.';
comment on column organic_results.position is 'Rank that the API reports; null when it reports none that can be read.';
comment on column organic_results.ordinal is 'Place in the answer, from 1.';
comment on column organic_results.title is 'Title.';
comment on column organic_results.snippet is 'Snippet.';
comment on column organic_results.extra is 'Fields that the interface does not name, under their own names.';
comment on column organic_results.as_given is 'Named fields as they came, where the columns cannot hold them exactly.';

create table search_features (
  search_id bigint not null,
  ordinal integer not null,
  kind text not null,
  page_id uuid,
  domain_id uuid,
  text text,
  extra jsonb,
  primary key (search_id, ordinal)
);
comment on table search_features is 'What answers carry besides results, entities, topics and related queries: each thing in a block that the interface does not name, as ads or questions. The blocks themselves stand whole in searches.extra.';
comment on column search_features.search_id is 'The answer.';
comment on column search_features.ordinal is 'Place among all such things of the answer, from 1.';
comment on column search_features.kind is 'Name of the block, as the answer spells it.';
comment on column search_features.page_id is 'The page that it leads to; null: it names none.';
comment on column search_features.domain_id is 'The host that it names, or that of its page; null: neither.';
comment on column search_features.text is 'What it says first: its title, question, text or name; null: nothing of these.';
comment on column search_features.extra is 'What else it says, under its own names; null: nothing.';

create table entities (
  id uuid primary key,
  name text not null,
  type text
);
comment on table entities is 'Things that answers name: people, places, products.';
comment on column entities.id is 'Derived from name and type.';
comment on column entities.name is 'Name.';
comment on column entities.type is 'Type that the API gives it.';

create table search_entities (
  search_id bigint not null,
  entity_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_entities is 'Entities of answers, in the order of the answer.';
comment on column search_entities.search_id is 'The answer.';
comment on column search_entities.entity_id is 'The entity.';
comment on column search_entities.ordinal is 'Place in the answer, from 1.';

create table clusters (
  id uuid primary key,
  label text not null
);
comment on table clusters is 'Labels of topics.';
comment on column clusters.id is 'Derived from the label.';
comment on column clusters.label is 'Label.';

create table search_clusters (
  search_id bigint not null,
  cluster_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_clusters is 'Topics of answers, in the order of the answer.';
comment on column search_clusters.search_id is 'The answer.';
comment on column search_clusters.cluster_id is 'The topic.';
comment on column search_clusters.ordinal is 'Place in the answer, from 1.';

create table related_searches (
  id uuid primary key,
  q text not null
);
comment on table related_searches is 'Queries that answers call related.';
comment on column related_searches.id is 'Derived from the text.';
comment on column related_searches.q is 'The text as the answers give it.';

create table search_related_searches (
  search_id bigint not null,
  related_search_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_related_searches is 'Related queries of answers, in the order of the answer.';
comment on column search_related_searches.search_id is 'The answer.';
comment on column search_related_searches.related_search_id is 'The related query.';
comment on column search_related_searches.ordinal is 'Place in the answer, from 1.';
