-- The earlier of two days to compare.
create or replace function analysis.since(day date, days integer) returns date
language sql stable parallel safe as $$
  select coalesce(nullif(current_setting('querymill.since', true), '')::date, day - days)
$$;
comment on function analysis.since(date, integer) is 'Day in the querymill.since setting. If the setting is empty, the given number of days before the given day.';
