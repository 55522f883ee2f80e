-- Related searches that were taken into a list of their own, each with the query whose answer named it.

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
comment on table expansions is 'Related searches that npm run expand took into a list of their own: a query is taken once.';
comment on column expansions.list_id is 'The list that it was taken into.';
comment on column expansions.query_id is 'The query that was made of the related search.';
comment on column expansions.source_list_id is 'The list that was expanded.';
comment on column expansions.origin is 'live, test or sandbox: the answers that named it, and those that are bought for it.';
comment on column expansions.round is '1: named by answers to queries of the expanded list; 2: by answers to queries of round 1; and so on.';
comment on column expansions.from_query is 'The query whose answer named it: of several in the round before, the heaviest.';
comment on column expansions.sources is 'Queries whose newest answers named it when it was taken.';
comment on column expansions.weight is 'Sum of the weights of these queries: the greatest were taken first.';
comment on column expansions.run_id is 'The run that buys it; null between the taking and the planning.';
comment on column expansions.decided_at is 'When it was taken.';
