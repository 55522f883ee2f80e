-- Limits that hold over all processes, and when a key was used last.

create unlogged table rates (
  account_id bigint primary key references accounts,
  second bigint not null,
  taken integer not null
);
comment on table rates is 'Requests of the present second of accounts with a limit. Not logged: after a crash a new second begins.';
comment on column rates.account_id is 'The account.';
comment on column rates.second is 'The second, counted from 1970.';
comment on column rates.taken is 'Requests in it so far.';

alter table keys add column last_used_at timestamptz;
comment on column keys.last_used_at is 'When the key was last used, to the minute; for test keys too.';
comment on column accounts.rate is 'Most requests a second of all its keys together; null: no limit of its own.';

update keys
set last_used_at = (select max(at) from usage where usage.key_id = keys.id);
