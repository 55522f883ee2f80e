-- True if a day is in the requested period.
create or replace function analysis.in_span(day date) returns boolean
language sql stable parallel safe as $$
  select day between coalesce(nullif(current_setting('querymill.since', true), '')::date, '-infinity')
    and coalesce(nullif(current_setting('querymill.until', true), '')::date, 'infinity')
$$;
comment on function analysis.in_span(date) is 'True if a day is between the querymill.since and querymill.until settings, inclusive. A setting without a value sets no limit. The --since, --until and --between flags of npm run sql and npm run export set these values.';
