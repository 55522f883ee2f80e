-- A balance is believed on the history of the server on which it was told. A standby that takes over may lack the calls
-- that began last: what it believes of the balance is greater than the truth, until a call of its own time tells another.

-- Only names it: a server that does not say these things has one history.
create function server_history() returns text
language plpgsql
stable
set search_path = pg_catalog
as $$
begin
  if pg_is_in_recovery() then
    return null;
  end if;
  return (select system_identifier from pg_control_system())
    || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    || '/' || (select oid from pg_database where datname = current_database());
exception
  when others then
    return null;
end
$$;
comment on function server_history() is 'Names the history of this database: another one after a standby took over, after a recovery to a point in time, and where it was restored from a dump. Null where the server does not tell.';

alter table accounts add column history text;
comment on column accounts.history is 'The history of the database in which calls began last; null before the first.';
alter table accounts add column history_seq bigint not null default 0;
comment on column accounts.history_seq is 'Calls that had begun when the history became another one: a balance that one of them told is looked at anew, by one call alone, before it is believed.';
