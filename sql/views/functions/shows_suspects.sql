-- True if the views show answers from suspect runs, which requires querymill.suspects to be set to "show".
create or replace function analysis.shows_suspects() returns boolean
language sql stable parallel safe as $$
  select coalesce(current_setting('querymill.suspects', true), '') = 'show'
$$;
comment on function analysis.shows_suspects() is 'True if the views show answers from suspect runs. To show these answers: set querymill.suspects = ''show''.';
