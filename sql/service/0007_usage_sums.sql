-- Queries are kept as long as the operator wishes; what remains of them then are their sums.

create table usage_sums (
  key_id bigint not null references keys,
  day date not null,
  requests bigint not null,
  failures bigint not null,
  credits bigint not null,
  primary key (key_id, day)
);
comment on table usage_sums is 'What remains of requests whose queries were kept long enough.';
comment on column usage_sums.key_id is 'The key that asked.';
comment on column usage_sums.day is 'Day in UTC.';
comment on column usage_sums.requests is 'Requests that got as far as their credits.';
comment on column usage_sums.failures is 'Those among them that failed, and were refunded.';
comment on column usage_sums.credits is 'Credits charged.';

create index usage_by_age on usage using brin (at);

create or replace view usage_by_day as
select
  days.key_id,
  keys.kind,
  keys.tail,
  days.day,
  sum(days.requests)::bigint as requests,
  sum(days.failures)::bigint as failures,
  sum(days.credits)::bigint as credits
from (
  select
    key_id,
    (at at time zone 'utc')::date as day,
    count(*) as requests,
    count(*) filter (where status <> 200) as failures,
    coalesce(sum(credits), 0) as credits
  from usage
  group by key_id, (at at time zone 'utc')::date
  union all
  select key_id, day, requests, failures, credits
  from usage_sums
) as days
join keys on keys.id = days.key_id
group by days.key_id, keys.kind, keys.tail, days.day;
