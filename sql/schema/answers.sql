-- Answers: their bodies as received, and their content as rows. Foreign keys are not enforced, because enforcing them
-- would double the cost of storing an answer. Ids of dictionary rows are derived from their content, so references are
-- always valid. declared_keys.sql declares the foreign keys.

-- A compressed body of up to 4 kB stays in its row. In the TOAST table, it would need two rows and an index entry.
create table raw_answers (
  call_id bigint primary key,
  status integer not null,
  received_at timestamptz not null default now(),
  truncated boolean not null default false,
  body bytea not null
) with (toast_tuple_target = 4080);
create index raw_answers_age on raw_answers using brin (received_at);
comment on table raw_answers is 'Bodies of all responses as received, regardless of their HTTP status. Old bodies may be pruned, because no other data depends on bodies.';
comment on column raw_answers.call_id is 'Call that was answered.';
comment on column raw_answers.status is 'HTTP status of the response.';
comment on column raw_answers.received_at is 'Time at which the response was received.';
comment on column raw_answers.truncated is 'True if the body was truncated by a network error or the size limit.';
comment on column raw_answers.body is 'Bytes of the body as received, after content decoding.';

create table prunings (
  id bigint generated always as identity primary key,
  received_before timestamptz not null,
  bodies bigint not null default 0,
  begun_at timestamptz not null default clock_timestamp()
);
comment on table prunings is 'Removals of old bodies. If a missing body was received after every pruning cutoff, pruning did not remove it.';
comment on column prunings.id is 'Identifier of the pruning.';
comment on column prunings.received_before is 'Pruning cutoff: only bodies received before this time were removed.';
comment on column prunings.bodies is 'Number of bodies removed.';
comment on column prunings.begun_at is 'Time at which the pruning began.';

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
-- Finds a task's answers. New entries are always added at the end of the index.
create index searches_of_task on searches (task_id);
-- Finds undocumented fields. The index is empty if the API sends only documented fields.
create index searches_extra_idx on searches (id) where extra is not null;
create index searches_unreadable on searches (id) where parse_error is not null;
comment on table searches is 'Answers received. A query can have several answers.';
comment on column searches.id is 'Identifier of the answer, which is also the identifier of its call.';
comment on column searches.call_id is 'Call that was answered.';
comment on column searches.task_id is 'Task for which the answer was bought.';
comment on column searches.query_id is 'Query that was sent.';
comment on column searches.fetched_at is 'Time at which the answer was received.';
comment on column searches.depth is 'Depth: the last position in the answer. "Not ranked" means that a domain does not appear within this depth.';
comment on column searches.credits_remaining is 'Balance after the call, as reported by the answer.';
comment on column searches.credits_used is 'Cost of the call in credits, as reported by the answer.';
comment on column searches.result_count is 'Number of organic results in the answer.';
comment on column searches.replaced is 'Number of characters that were replaced by U+FFFD because PostgreSQL cannot store them (NUL, lone surrogates).';
comment on column searches.origin is 'Origin of the answer: live, test (a test key) or sandbox (the bundled service).';
comment on column searches.api is 'Host of the API that returned the answer, followed by the API''s path, if any. For the bundled service, the value is "bundled".';
comment on column searches.intent is 'Intent label assigned by the API.';
comment on column searches.sentiment is 'Sentiment label assigned by the API.';
comment on column searches.parse_error is 'Reason why the answer has no rows: an unreadable body, a refusal that was charged, an answer to another query, or rows that the tables rejected. Null if the answer is readable.';
comment on column searches.extra is 'Fields that the API specification does not define, under their original names.';
comment on column searches.as_given is 'Values of defined fields that the columns cannot hold exactly, as received.';
comment on column searches.archived is 'True while the content of the answer is in the archive. Archived results, entities, clusters, related searches, SERP features and bodies are in files, not in the tables.';

create table domains (
  id uuid primary key,
  host text not null,
  site text,
  -- The domain is stored, so that views do not have to compute it. The bytewise collation makes
  -- sorting several times faster.
  domain text collate "C" not null
    generated always as (
      case when lower(host) like 'www._%' then substr(lower(host), 5) else lower(host) end
    ) stored
);
comment on table domains is 'Host names of results.';
comment on column domains.id is 'Identifier derived from the host.';
comment on column domains.host is 'Host name as given in answers.';
comment on column domains.site is 'Registrable domain of the host; null for an IP address or a name without a registrable domain.';
comment on column domains.domain is 'Domain used in analysis: the host in lower case without a leading www.';

create table pages (
  id uuid primary key,
  domain_id uuid,
  url text not null,
  url_key text not null
);
comment on table pages is 'Addresses of results.';
comment on column pages.id is 'Identifier derived from the address. The first four bytes are derived from url_key.';
comment on column pages.domain_id is 'Host of the address; null if the address has no host.';
comment on column pages.url is 'Address as it appears in answers.';
comment on column pages.url_key is 'Address without scheme, fragment, tracking parameters or trailing slash. All spellings of one page''s address have the same url_key.';

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
create index organic_results_extra_idx on organic_results (search_id) where extra is not null;
comment on table organic_results is 'Organic results: one row for each result, in the order in which the answer lists the results.';
comment on column organic_results.search_id is 'Answer that contains the result.';
comment on column organic_results.page_id is 'Page of the result; null if the result has no address.';
comment on column organic_results.domain_id is 'Host of the result; null if the result has no host.';
comment on column organic_results.position is 'Position reported by the API; null if the API reports no readable position.';
comment on column organic_results.ordinal is 'Index of the result in the answer, starting at 1.';
comment on column organic_results.title is 'Title of the result.';
comment on column organic_results.snippet is 'Snippet of the result.';
comment on column organic_results.extra is 'Fields that the API specification does not define, under their original names.';
comment on column organic_results.as_given is 'Values of defined fields that the columns cannot hold exactly, as received.';

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
comment on table search_features is 'Items of SERP features: blocks, such as ads or questions, that the API specification does not define. The complete blocks are in searches.extra.';
comment on column search_features.search_id is 'Answer that contains the item.';
comment on column search_features.ordinal is 'Index of the item among all SERP feature items in the answer, starting at 1.';
comment on column search_features.kind is 'Name of the block, as spelled in the answer.';
comment on column search_features.page_id is 'Page that the item links to; null if the item has no link.';
comment on column search_features.domain_id is 'Host given in the item, or the host of its page; null if the item has neither a host nor a page.';
comment on column search_features.text is 'Text of the item: the first of the fields title, question, text and name that has a value; null if none has a value.';
comment on column search_features.extra is 'Other fields of the item, under their original names; null if the item has no other fields.';

create table entities (
  id uuid primary key,
  name text not null,
  type text
);
comment on table entities is 'Entities mentioned in answers, such as people, places and products.';
comment on column entities.id is 'Identifier derived from name and type.';
comment on column entities.name is 'Name of the entity.';
comment on column entities.type is 'Type assigned by the API.';

create table search_entities (
  search_id bigint not null,
  entity_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_entities is 'Entities mentioned in each answer, in the order in which the answer lists them.';
comment on column search_entities.search_id is 'Answer that mentions the entity.';
comment on column search_entities.entity_id is 'Entity mentioned in the answer.';
comment on column search_entities.ordinal is 'Index of the entity in the answer, starting at 1.';

create table clusters (
  id uuid primary key,
  label text not null
);
comment on table clusters is 'Clusters: the topics mentioned in the answers.';
comment on column clusters.id is 'Identifier derived from the label.';
comment on column clusters.label is 'Label of the cluster.';

create table search_clusters (
  search_id bigint not null,
  cluster_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_clusters is 'Clusters mentioned in each answer, in the order in which the answer lists them.';
comment on column search_clusters.search_id is 'Answer that mentions the cluster.';
comment on column search_clusters.cluster_id is 'Cluster mentioned in the answer.';
comment on column search_clusters.ordinal is 'Index of the cluster in the answer, starting at 1.';

create table related_searches (
  id uuid primary key,
  q text not null
);
comment on table related_searches is 'Related searches: the queries suggested in answers.';
comment on column related_searches.id is 'Identifier derived from the text.';
comment on column related_searches.q is 'Text as given in answers.';

create table search_related_searches (
  search_id bigint not null,
  related_search_id uuid not null,
  ordinal integer not null,
  primary key (search_id, ordinal)
);
comment on table search_related_searches is 'Related searches suggested in each answer, in the answer''s order.';
comment on column search_related_searches.search_id is 'Answer that suggests the related search.';
comment on column search_related_searches.related_search_id is 'Related search suggested in the answer.';
comment on column search_related_searches.ordinal is 'Index of the related search in the answer, starting at 1.';
