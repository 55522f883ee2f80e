-- What was asked, kept apart from the ledger: related searches read this and never the whole of usage.

create table asked (
  q text primary key,
  account_id bigint not null references accounts,
  shared boolean not null default false,
  last_on date not null default (now() at time zone 'utc')::date
);
create index asked_words on asked using gin (to_tsvector('simple'::regconfig, q)) where shared;
comment on table asked is 'Queries that found something, once each: those that two accounts have asked are shown as related searches.';
comment on column asked.q is 'The query in lower case.';
comment on column asked.account_id is 'The account that asked first.';
comment on column asked.shared is 'True once another account has asked too: nobody''s own query is shown to others.';
comment on column asked.last_on is 'Day (UTC) on which it was last asked by an account that made a difference.';

insert into asked (q, account_id, shared, last_on)
select lower(q), min(account_id), count(distinct account_id) > 1, (max(at) at time zone 'utc')::date
from usage
where credits > 0
  and length(q) <= 200
group by lower(q);

-- It was written at each request and read whole at each search.
drop index if exists usage_q;
