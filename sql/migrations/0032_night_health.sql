-- Whether a finished run can be believed: judged against the runs of its list before, and kept, so that trends can leave
-- out what cannot.

alter table runs add column suspect boolean not null default false;
comment on column runs.suspect is 'True when its answers differ from those of earlier runs in a way that says more about the night than about the results; night_health says why.';

create table night_health (
  run_id bigint primary key references runs,
  judged_at timestamptz not null default clock_timestamp(),
  asked bigint not null,
  answered bigint not null,
  empty bigint not null,
  unreadable bigint not null,
  depth double precision,
  price double precision,
  minutes double precision not null,
  workers bigint not null,
  reasons text[] not null
);
comment on table night_health is 'What each finished run came to, and what is odd about it beside the earlier runs of its list.';
comment on column night_health.run_id is 'The run.';
comment on column night_health.judged_at is 'When it was judged; a run that goes on is judged again when it has ended again.';
comment on column night_health.asked is 'Queries that were to be bought: without those whose older answers were young enough.';
comment on column night_health.answered is 'Of these, queries with a readable answer.';
comment on column night_health.empty is 'Of these answers, those without any result.';
comment on column night_health.unreadable is 'Queries whose answer cannot be read.';
comment on column night_health.depth is 'Mean of the greatest positions of the answers that are not empty; null without any.';
comment on column night_health.price is 'Mean of the credits that an answer used; null where none told.';
comment on column night_health.minutes is 'From the making of the run to its end.';
comment on column night_health.workers is 'Workers that made its calls.';
comment on column night_health.reasons is 'Why it is suspect, a sentence each; none: it is not.';

create index night_health_age on night_health (judged_at);
