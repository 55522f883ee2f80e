-- The earlier one of two days to be compared.
create or replace function analysis.since(day date, days integer) returns date
language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('querymill.since', true), '')::date, day - days)
$$;
comment on function analysis.since(date, integer) is 'The day of the setting querymill.since; without it, so many days before the given one.';
