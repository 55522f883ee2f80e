-- Every table of the pipeline. Facts carry no enforced foreign keys: they would double the cost of storing an answer.
-- Ids of dictionary rows are derived from their content, so that integrity holds by construction.

create table installation (
  id uuid primary key default gen_random_uuid(),
  created_at timestamptz not null default now()
);
comment on table installation is 'One row: tells this database from every other one, so that an answer kept in a file goes back to where it was paid for.';
comment on column installation.id is 'Made once, when the tables were made.';
comment on column installation.created_at is 'When the tables were made.';
insert into installation default values;

create table lists (
  id bigint generated always as identity primary key,
  name text not null unique,
  source text not null,
  created_at timestamptz not null default now()
);
comment on table lists is 'Named sets of queries, usually one CSV file each.';
comment on column lists.id is 'Number of the list.';
comment on column lists.name is 'Name of the list: the file name without its ending, unless another was given.';
comment on column lists.source is 'Path of the file that was read last.';
comment on column lists.created_at is 'When the list was first read.';

create table queries (
  id uuid primary key,
  key text not null unique,
  q text not null,
  location text,
  hl text,
  gl text,
  num integer not null check (num between 1 and 100),
  device text check (device in ('desktop', 'mobile', 'tablet'))
);
comment on table queries is 'Distinct requests. An absent parameter is null, is not sent, and differs from an explicit one.';
comment on column queries.id is 'Derived from the key.';
comment on column queries.key is 'Hex sha256 of the canonical request: equal keys mean equal pages of results.';
comment on column queries.q is 'Canonical text of the query, as it is sent.';
comment on column queries.location is 'Place name as sent, or null when none is sent.';
comment on column queries.hl is 'Language code as sent, or null when none is sent.';
comment on column queries.gl is 'Country code as sent, or null when none is sent.';
comment on column queries.num is 'Number of results asked for, 1 to 100; always sent.';
comment on column queries.device is 'desktop, mobile or tablet as sent, or null when none is sent.';

create table list_queries (
  list_id bigint not null references lists,
  query_id uuid not null,
  priority smallint not null default 5 check (priority between 1 and 9),
  weight double precision,
  target_url text,
  tags text[] not null default '{}',
  given text,
  first_seen timestamptz not null default now(),
  last_seen timestamptz not null default now(),
  primary key (list_id, query_id)
);
comment on table list_queries is 'Which queries a list holds, with what its columns say about them.';
comment on column list_queries.list_id is 'The list.';
comment on column list_queries.query_id is 'The query.';
comment on column list_queries.priority is '1 is bought first, 9 last; the most urgent of merged lines.';
comment on column list_queries.weight is 'How much the query counts in weighted analyses; the greatest of merged lines.';
comment on column list_queries.target_url is 'The page that ought to rank for the query, when the list names one.';
comment on column list_queries.tags is 'Labels from the list; those of merged lines united.';
comment on column list_queries.given is 'The text as the file gave it, when it differs from the canonical text.';
comment on column list_queries.first_seen is 'When the list first held the query.';
comment on column list_queries.last_seen is 'When the list last held the query; older than the last reading of the list: it was removed since.';

create table runs (
  id bigint generated always as identity primary key,
  list_id bigint not null references lists,
  run_date date not null,
  kind text not null check (kind in ('manual', 'nightly')),
  state text not null check (state in ('planning', 'open', 'done', 'cancelled')),
  budget bigint check (budget >= 0),
  max_age_ms bigint not null default 0 check (max_age_ms >= 0),
  spent bigint not null default 0 check (spent >= 0),
  reserved bigint not null default 0 check (reserved >= 0),
  rows bigint not null default 0,
  accepted bigint not null default 0,
  duplicates bigint not null default 0,
  rejected bigint not null default 0,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  check (rows = accepted + duplicates + rejected)
) with (fillfactor = 50);
create unique index runs_one_manual on runs (list_id) where kind = 'manual' and state in ('planning', 'open');
create index runs_open on runs (id) where state in ('planning', 'open');
create index runs_of_list on runs (list_id, run_date);
comment on table runs is 'One pass over a list. At most one manual run of a list is open.';
comment on column runs.id is 'Number of the run.';
comment on column runs.list_id is 'The list that is worked.';
comment on column runs.run_date is 'The day the run counts for, in its zone.';
comment on column runs.kind is 'manual: started by hand; nightly: started by a schedule.';
comment on column runs.state is 'planning, open, done or cancelled.';
comment on column runs.budget is 'Most credits the run may use; null: no limit of its own.';
comment on column runs.max_age_ms is 'An answer younger than this many milliseconds is reused instead of bought; 0 buys all.';
comment on column runs.spent is 'Credits used by calls of the run, with the bound of each call whose cost is not known.';
comment on column runs.reserved is 'Credits set aside for calls of the run that are in flight.';
comment on column runs.rows is 'Lines of the file that hold anything, header not counted.';
comment on column runs.accepted is 'Lines that gave a query.';
comment on column runs.duplicates is 'Lines whose queries earlier lines already gave.';
comment on column runs.rejected is 'Lines that could not be used; rejected_lines says why.';
comment on column runs.created_at is 'When the run was planned.';
comment on column runs.finished_at is 'When its last task ended, or when it was cancelled.';

create table slices (
  run_id bigint not null references runs,
  slice integer not null,
  priority smallint not null check (priority between 1 and 9),
  round integer not null default 0,
  done_at timestamptz,
  primary key (run_id, slice)
) with (fillfactor = 70);
create index slices_open on slices (run_id, slice) where done_at is null;
comment on table slices is 'Up to 25 tasks of one run and one priority, carried by one job of the queue.';
comment on column slices.run_id is 'The run.';
comment on column slices.slice is 'Number of the slice within the run.';
comment on column slices.priority is 'Priority of all its tasks.';
comment on column slices.round is 'Rises each time the slice is queued again; part of the id of its job.';
comment on column slices.done_at is 'When its last task ended; null while one is open.';

create table tasks (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  query_id uuid not null,
  search_id bigint,
  not_before timestamptz,
  finished_at timestamptz,
  slice integer not null,
  priority smallint not null default 5 check (priority between 1 and 9),
  attempts smallint not null default 0,
  ambiguous smallint not null default 0,
  deaths smallint not null default 0,
  state text not null default 'open'
    check (state in ('open', 'answered', 'reused', 'failed', 'unknown', 'unaffordable', 'cancelled')),
  error_code text,
  error_message text,
  unique (run_id, query_id)
) with (fillfactor = 80);
create index tasks_of_slice on tasks (run_id, slice);
comment on table tasks is 'The duty to answer one query in one run. Ends in exactly one state.';
comment on column tasks.id is 'Number of the task.';
comment on column tasks.run_id is 'The run.';
comment on column tasks.query_id is 'The query.';
comment on column tasks.search_id is 'The answer: the first one received, or the one reused.';
comment on column tasks.not_before is 'Not tried again before this time.';
comment on column tasks.finished_at is 'When the task ended.';
comment on column tasks.slice is 'The slice that carries it.';
comment on column tasks.priority is '1 is bought first, 9 last.';
comment on column tasks.attempts is 'Calls sent for it that count as a try; being told to slow down is none.';
comment on column tasks.ambiguous is 'Calls that may have been charged although no answer could be read.';
comment on column tasks.deaths is 'Workers that died with a call of this task in flight.';
comment on column tasks.state is 'open, answered, reused, failed (a verdict that will not change), unknown (perhaps charged, tries used up or held), unaffordable (the budget of its run was spent) or cancelled.';
comment on column tasks.error_code is 'What went wrong last, as one word; null for a task without trouble.';
comment on column tasks.error_message is 'What went wrong last, in a sentence.';

create table accounts (
  id bigint generated always as identity primary key,
  name text not null,
  kind text not null check (kind in ('live', 'test', 'sandbox')),
  seq bigint not null default 0,
  used_total bigint not null default 0,
  obs_seq bigint,
  obs_at timestamptz,
  obs_remaining bigint,
  spent_since bigint not null default 0,
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight integer not null default 0 check (in_flight >= 0),
  uncertain bigint not null default 0 check (uncertain >= 0),
  drained_floor bigint,
  blind_calls smallint not null default 0,
  probe_granted boolean not null default false,
  last_probe_at timestamptz,
  not_before timestamptz,
  rate_next_at timestamptz,
  slowdowns integer not null default 0,
  blocked_key text,
  day date,
  day_spent bigint not null default 0,
  unique (name, kind)
) with (fillfactor = 50);
comment on table accounts is 'One balance behind a key, as the ledger knows it; survives a change of key.';
comment on column accounts.id is 'Number of the account.';
comment on column accounts.name is 'MILL_ACCOUNT, or the host of the API.';
comment on column accounts.kind is 'live, test (a test key: never stops for credit) or sandbox (the bundled service).';
comment on column accounts.seq is 'Number of calls begun; orders them by their start.';
comment on column accounts.used_total is 'Credits used by all settled calls, ever.';
comment on column accounts.obs_seq is 'Start of the call whose answer told the balance: the newest started one wins.';
comment on column accounts.obs_at is 'When that call began.';
comment on column accounts.obs_remaining is 'Balance that its answer told.';
comment on column accounts.spent_since is 'Credits used by calls that ended after that call began: not surely in the balance it told.';
comment on column accounts.reserved is 'Credits set aside for calls in flight.';
comment on column accounts.in_flight is 'Calls in flight.';
comment on column accounts.uncertain is 'Credits held for calls whose outcome nobody could read, until an answer begun later tells.';
comment on column accounts.drained_floor is 'Floor at which calls last stopped for want of credit; null while credit is enough.';
comment on column accounts.blind_calls is 'Calls made, one at a time, before any balance was known.';
comment on column accounts.probe_granted is 'True when one call may be made to see the balance: after resume, or after a renewal of the plan.';
comment on column accounts.last_probe_at is 'When a single call was last let through to see the balance.';
comment on column accounts.not_before is 'No call begins before this time: the API asked to slow down.';
comment on column accounts.rate_next_at is 'When the next call may begin under the rate limit.';
comment on column accounts.slowdowns is 'Times in a row that the API asked to slow down.';
comment on column accounts.blocked_key is 'Fingerprint of the key that the API refused.';
comment on column accounts.day is 'Day that day_spent counts, in the zone of the settings.';
comment on column accounts.day_spent is 'Credits used on that day, with the bound of each call whose cost is not known.';

create table account_costs (
  account_id bigint not null references accounts,
  class text not null,
  dearest bigint,
  cheapest bigint,
  seen integer not null default 0,
  trying boolean not null default false,
  primary key (account_id, class)
);
comment on table account_costs is 'What calls of each kind have cost so far: the bound for the next ones.';
comment on column account_costs.account_id is 'The account.';
comment on column account_costs.class is 'Number of results and device, the parameters that prices depend on.';
comment on column account_costs.dearest is 'Greatest cost seen; null before the first.';
comment on column account_costs.cheapest is 'Smallest cost seen; null before the first.';
comment on column account_costs.seen is 'Costs seen, counted up to the number from which the greatest is trusted.';
comment on column account_costs.trying is 'True while the one call of a kind never seen before is in flight.';

create table workers (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  host text not null,
  pid integer not null,
  floor bigint not null,
  concurrency integer not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  stopped_at timestamptz
);
create index workers_live on workers (account_id, lease_until) where stopped_at is null;
comment on table workers is 'Processes that buy answers, each with a lease on the clock of the database.';
comment on column workers.id is 'Number of the worker.';
comment on column workers.account_id is 'The account it spends from.';
comment on column workers.host is 'The machine it runs on.';
comment on column workers.pid is 'Its process number there.';
comment on column workers.floor is 'Credits that must stay by its settings; in force is the highest among live workers.';
comment on column workers.concurrency is 'Calls it may have in flight.';
comment on column workers.started_at is 'When it began.';
comment on column workers.lease_until is 'Until when its calls in flight are its own; past it, anybody may declare them lost.';
comment on column workers.stopped_at is 'When it ended in good order; null while it lives, or when it died.';

create table calls (
  id bigint generated always as identity primary key,
  task_id bigint not null,
  query_id uuid not null,
  account_id bigint not null,
  worker bigint not null,
  sent_at timestamptz not null,
  finished_at timestamptz,
  unknown_at timestamptz,
  washed_at timestamptz,
  start_seq bigint not null,
  start_total bigint not null,
  credits_remaining bigint,
  credits_reserved integer not null,
  credits_used integer,
  http_status integer,
  outcome text check (outcome in ('settled', 'unknown', 'unsent')),
  probe boolean not null default false,
  class text not null,
  error_code text,
  error_message text
) with (fillfactor = 80);
create unique index calls_task_in_flight on calls (task_id) where outcome is null;
create unique index calls_query_in_flight on calls (account_id, query_id) where outcome is null;
create index calls_unwashed on calls (account_id, unknown_at) where outcome = 'unknown' and washed_at is null;
create index calls_of_task on calls (task_id);
comment on table calls is 'The ledger: one row for each paid request that was sent, or reserved and released unsent.';
comment on column calls.id is 'Number of the call.';
comment on column calls.task_id is 'The task it served.';
comment on column calls.query_id is 'The query it asked.';
comment on column calls.account_id is 'The account it was paid from.';
comment on column calls.worker is 'The worker that made it.';
comment on column calls.sent_at is 'When it was reserved, a moment before it was sent.';
comment on column calls.finished_at is 'When its outcome was written down.';
comment on column calls.unknown_at is 'When it was given up as unreadable.';
comment on column calls.washed_at is 'When an answer begun late enough showed the balance with its cost in it: nothing is held for it any more.';
comment on column calls.start_seq is 'Its place among all calls of the account, by start.';
comment on column calls.start_total is 'used_total of the account when it began.';
comment on column calls.credits_remaining is 'Balance that its answer told.';
comment on column calls.credits_reserved is 'Credits set aside for it; held while outcome is null, and while it is unknown and washed_at is null.';
comment on column calls.credits_used is 'Credits that its answer says it used; null when nobody knows.';
comment on column calls.http_status is 'Status of the response, when there was one.';
comment on column calls.outcome is 'settled, unknown (perhaps charged), unsent (released without being sent); null while in flight.';
comment on column calls.probe is 'True when it was let through alone to see the balance.';
comment on column calls.class is 'Number of results and device, the parameters that prices depend on.';
comment on column calls.error_code is 'What went wrong, as one word.';
comment on column calls.error_message is 'What went wrong, in a sentence.';

create table stops (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  reason text not null check (reason in ('credit_floor', 'budget', 'auth', 'rate', 'unreachable')),
  since timestamptz not null default now(),
  until timestamptz,
  detail text,
  cleared_at timestamptz,
  cleared_by text
);
create unique index stops_standing on stops (account_id, reason) where cleared_at is null;
comment on table stops is 'Why an account stands or stood still.';
comment on column stops.id is 'Number of the stop.';
comment on column stops.account_id is 'The account.';
comment on column stops.reason is 'credit_floor, budget (of the day), auth (the key was refused), rate (told to slow down) or unreachable.';
comment on column stops.since is 'When it began.';
comment on column stops.until is 'When it ends by itself, if that is known.';
comment on column stops.detail is 'What was seen, in a sentence.';
comment on column stops.cleared_at is 'When it was lifted; null while it stands.';
comment on column stops.cleared_by is 'What lifted it: observation, resume, renewal, key, day or time.';

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
  as_given jsonb
);
create index searches_of_query on searches (query_id, fetched_at desc);
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
comment on column searches.parse_error is 'Why the answer could not be read; null when it was.';
comment on column searches.extra is 'Fields that the interface does not name, under their own names.';
comment on column searches.as_given is 'Named fields as they came, where the columns cannot hold them exactly.';

create table domains (
  id uuid primary key,
  host text not null,
  site text
);
comment on table domains is 'Host names of results.';
comment on column domains.id is 'Derived from the host.';
comment on column domains.host is 'Host name as the answers give it.';
comment on column domains.site is 'Registrable domain of the host; null for addresses and names without one.';

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

create table rejected_lines (
  run_id bigint not null references runs,
  line bigint not null,
  reason text not null,
  content text not null
);
create index rejected_lines_of_run on rejected_lines (run_id, line);
comment on table rejected_lines is 'Lines of a list that could not be used.';
comment on column rejected_lines.run_id is 'The run that read the list.';
comment on column rejected_lines.line is 'Number of the line in the file, from 1.';
comment on column rejected_lines.reason is 'Why it could not be used.';
comment on column rejected_lines.content is 'The beginning of the line.';

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
comment on table nights is 'What became of each time a schedule was due: the key makes each happen once.';
comment on column nights.schedule is 'Name of the schedule.';
comment on column nights.due_at is 'When it was due.';
comment on column nights.run_date is 'The local date it counts for.';
comment on column nights.outcome is 'ran, late, skipped (another run was going), missed (nobody was there) or failed.';
comment on column nights.run_id is 'The run that it made, if it made one.';
comment on column nights.decided_at is 'When the outcome was written down.';
comment on column nights.note is 'Why, in a sentence.';

-- Declared for people and diagrams, checked by nobody: PostgreSQL has had such keys since version 18.
do $$
declare
  declared text;
begin
  if current_setting('server_version_num')::integer < 180000 then
    return;
  end if;
  foreach declared in array array[
    'list_queries (query_id) references queries',
    'tasks (run_id) references runs',
    'tasks (query_id) references queries',
    'tasks (search_id) references searches',
    'tasks (run_id, slice) references slices',
    'calls (task_id) references tasks',
    'calls (query_id) references queries',
    'calls (account_id) references accounts',
    'calls (worker) references workers',
    'raw_answers (call_id) references calls',
    'searches (call_id) references calls',
    'searches (task_id) references tasks',
    'searches (query_id) references queries',
    'pages (domain_id) references domains',
    'organic_results (search_id) references searches',
    'organic_results (page_id) references pages',
    'organic_results (domain_id) references domains',
    'search_entities (search_id) references searches',
    'search_entities (entity_id) references entities',
    'search_clusters (search_id) references searches',
    'search_clusters (cluster_id) references clusters',
    'search_related_searches (search_id) references searches',
    'search_related_searches (related_search_id) references related_searches'
  ] loop
    execute format(
      'alter table %s add foreign key %s not enforced',
      split_part(declared, ' ', 1),
      substr(declared, position('(' in declared))
    );
  end loop;
end
$$;
