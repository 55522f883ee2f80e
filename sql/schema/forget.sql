-- What stays of lists, queries and texts that were forgotten: numbers that the books need, and nothing that can be read.

create table forgotten_tasks (
  task_id bigint primary key,
  run_id bigint not null
);
create index forgotten_tasks_of_run on forgotten_tasks (run_id);
comment on table forgotten_tasks is 'Tasks of queries that were forgotten: their calls stay in the ledger and count for their runs, and have no answer any more.';
comment on column forgotten_tasks.task_id is 'The task; its row is gone.';
comment on column forgotten_tasks.run_id is 'The run that it belonged to.';

create table forgotten_bodies (
  call_id bigint primary key
);
comment on table forgotten_bodies is 'Calls whose bodies were removed since they held texts that were forgotten; what else their answers say stays.';
comment on column forgotten_bodies.call_id is 'The call that was answered.';

create table forgetting_queries (
  query_id uuid primary key,
  list_id bigint
);
comment on table forgetting_queries is 'Queries that are being forgotten; empty unless that broke off, and the next time goes on with them.';
comment on column forgetting_queries.query_id is 'The query.';
comment on column forgetting_queries.list_id is 'The list that goes, and that alone holds it; null: it goes from all lists.';

create table forgetting_words (
  kind text not null,
  id uuid not null,
  held jsonb,
  primary key (kind, id)
);
comment on table forgetting_words is 'Addresses, hosts, entities, topics and related queries that forgotten answers named, and that go unless others name them; empty unless that broke off, and the next time goes on with them.';
comment on column forgetting_words.kind is 'The table that holds it.';
comment on column forgetting_words.id is 'Its row there.';
comment on column forgetting_words.held is 'The row as it was, until it is sure that no answer which came at the same moment names it; null: it has not been taken out yet.';
