-- The ledger without a lock across a round trip: what is decided is written only if what it rests on still stands.

alter table calls add column mark uuid;
comment on column calls.mark is 'Random mark, made by the worker before it asked for the call: an answer names its call by number and mark, since a database that was set back gives numbers out anew. Null for calls of older versions.';

alter table accounts add column blocked_keys text[] not null default '{}';
comment on column accounts.blocked_keys is 'Fingerprints of the keys that the API refused.';
update accounts set blocked_keys = array[blocked_key] where blocked_key is not null;
alter table accounts drop column blocked_key;

alter table accounts
  add column told_seq bigint,
  add column told_least bigint,
  add column told_untold bigint not null default 0,
  add column next_told_seq bigint,
  add column next_told_least bigint,
  add column next_told_untold bigint not null default 0;
comment on column accounts.told_seq is 'Calls that had begun when told_least began to be kept: fewer than when the call behind obs_remaining began.';
comment on column accounts.told_least is 'Least balance told by answers since then; null while none told one.';
comment on column accounts.told_untold is 'Credits used since then by answers that told no balance.';
comment on column accounts.next_told_seq is 'The same from a later moment on, to take its place.';
comment on column accounts.next_told_least is 'Least balance told by answers since that later moment; null while none told one.';
comment on column accounts.next_told_untold is 'Credits used since that later moment by answers that told no balance.';

alter table account_costs
  add column recent_first bigint not null default 0,
  add column recent_second bigint not null default 0,
  add column recent_count integer not null default 0,
  add column earlier_first bigint not null default 0,
  add column earlier_second bigint not null default 0,
  add column earlier_count integer not null default 0;
comment on column account_costs.seen is 'Prices seen; from thirty on the greatest of the last ones is trusted as a bound.';
comment on column account_costs.recent_first is 'Greatest of the prices heard last.';
comment on column account_costs.recent_second is 'The next greatest of them; the same when the greatest came twice.';
comment on column account_costs.recent_count is 'How many those are; at thirty they become the earlier ones.';
comment on column account_costs.earlier_first is 'Greatest of the thirty or more prices before the recent ones.';
comment on column account_costs.earlier_second is 'The next greatest of them; the same when the greatest came twice.';
comment on column account_costs.earlier_count is 'How many those are.';
update account_costs
set
  earlier_first = dearest,
  earlier_second = dearest,
  earlier_count = seen
where dearest is not null;

create function ledger_changed() returns boolean
language plpgsql as $$
begin
  raise exception 'the books changed meanwhile' using errcode = 'QM001';
end
$$;
comment on function ledger_changed() is 'Ends a statement of the ledger whose decision rests on what is no longer so: it is made again from what is there.';
