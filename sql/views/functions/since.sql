-- The earlier of two days to be compared.
create or replace function analysis.since(day date, days integer) returns date
language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('querymill.since', true), '')::date, day - days)
$$;
comment on function analysis.since(date, integer) is 'Day in the querymill.since setting; if it is not set, the given day minus the given number of days.';
