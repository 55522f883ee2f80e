-- Near twins: queries whose answers have been the same for long may be lent one answer, where their schedule says so.

alter table cadences add column lent_by uuid;
comment on column cadences.lent_by is 'The query whose answer it is lent while it rests; null: none.';

alter table cadence_nights
  add column lent integer not null default 0,
  add column lent_by_chance integer not null default 0;
comment on column cadence_nights.lent is 'Queries that were not asked and lent the answer of another one.';
comment on column cadence_nights.lent_by_chance is 'Queries that could be lent an answer and were drawn by chance to be asked.';

alter table cadence_draws
  add column lent_by uuid,
  add column differences integer;
comment on column cadence_draws.lent_by is 'The query whose answer it would have been lent; null: none.';
comment on column cadence_draws.differences is 'Pages of the first ten in which its answer differed from the one that would have been lent; null: not compared, or none would have been lent.';

create table lendings (
  list_id bigint not null,
  run_date date not null,
  query_id uuid not null,
  lent_by uuid not null,
  primary key (list_id, run_date, query_id)
);
comment on table lendings is 'For each night the queries that it does not ask since the answers of another one have been the same for long: that one lends its newest answer.';
comment on column lendings.list_id is 'The list.';
comment on column lendings.run_date is 'The night.';
comment on column lendings.query_id is 'The query that is not asked.';
comment on column lendings.lent_by is 'The query that lends: of the same list, and asked itself.';
