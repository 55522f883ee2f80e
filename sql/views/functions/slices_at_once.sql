-- Whether a slice is looked up for all days at once: what pays for questions about all days, and not about one.
create or replace function analysis.slices_at_once() returns boolean
language sql stable parallel safe as $$
  select coalesce(current_setting('querymill.slice_at_once', true), '') = 'on'
$$;
comment on function analysis.slices_at_once() is 'True when a slice is looked up for all queries and days at once, and not for each observation by itself: set querymill.slice_at_once = ''on''. The rows are the same; npm run sql and export set it for questions that read every day.';
