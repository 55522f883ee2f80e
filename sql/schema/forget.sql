-- Ids of forgotten lists, queries and texts that the ledger still needs.

create table forgotten_tasks (
  task_id bigint primary key,
  run_id bigint not null
);
create index forgotten_tasks_of_run on forgotten_tasks (run_id);
comment on table forgotten_tasks is 'Tasks for forgotten queries. The calls for these tasks stay in the ledger and count toward their runs, but the answers are deleted.';
comment on column forgotten_tasks.task_id is 'Task whose row was deleted.';
comment on column forgotten_tasks.run_id is 'Run to which the task belonged.';

create table forgotten_bodies (
  call_id bigint primary key
);
comment on table forgotten_bodies is 'Calls whose bodies were removed because they contained forgotten texts. All other data from the answers to these calls remains in the tables.';
comment on column forgotten_bodies.call_id is 'Call that was answered.';

create table forgetting_queries (
  query_id uuid primary key,
  list_id bigint
);
comment on table forgetting_queries is 'Queries that npm run forget is removing. The table is empty unless the command was interrupted. After an interruption, the next run of the command removes these queries.';
comment on column forgetting_queries.query_id is 'Query to be removed.';
comment on column forgetting_queries.list_id is 'List that is being forgotten, if no other list contains the query; null if the query is removed from all lists.';

create table forgetting_words (
  kind text not null,
  id uuid not null,
  primary key (kind, id)
);
comment on table forgetting_words is 'Addresses, hosts, entities, clusters and related searches from forgotten answers. These rows are removed unless other answers contain them. The table is empty unless the command was interrupted. After an interruption, the next run of the command continues with these rows.';
comment on column forgetting_words.kind is 'Table that contains the row.';
comment on column forgetting_words.id is 'Identifier of the row in its table.';
