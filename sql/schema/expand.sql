-- Related searches that were added to a list, each with its source query.

create table expansions (
  list_id bigint not null references lists,
  query_id uuid not null,
  source_list_id bigint not null references lists,
  origin text not null check (origin in ('live', 'test', 'sandbox')),
  round integer not null check (round > 0),
  from_query uuid not null,
  sources bigint not null check (sources > 0),
  weight double precision not null,
  run_id bigint references runs,
  decided_at timestamptz not null default now(),
  primary key (list_id, query_id)
);
create index expansions_of_source on expansions (source_list_id, round);
create index expansions_of_run on expansions (run_id);
comment on table expansions is 'Related searches that npm run expand added to a separate list. A related search is added only once.';
comment on column expansions.list_id is 'List to which the related search was added.';
comment on column expansions.query_id is 'Query created from the related search.';
comment on column expansions.source_list_id is 'List that was expanded.';
comment on column expansions.origin is 'Origin of the answers that suggest the related search, and of the answers bought for it: live, test or sandbox.';
comment on column expansions.round is 'Round of the expansion. Round 1 contains related searches from answers to the expanded list''s queries, round 2 contains related searches from answers to round 1''s queries, and so on.';
comment on column expansions.from_query is 'Query whose answer suggested the related search. If answers to several queries in the previous round suggested the related search, the query with the highest weight is stored.';
comment on column expansions.sources is 'Number of queries whose newest answers suggested the related search when it was added.';
comment on column expansions.weight is 'Sum of the weights of the queries whose answers suggested the related search. The related searches with the highest sums were added first.';
comment on column expansions.run_id is 'Run that buys the query; null until that run is planned.';
comment on column expansions.decided_at is 'Time at which the related search was added.';
