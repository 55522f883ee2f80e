-- True if querymill.suspects is "show", so that the views include answers from suspect runs.
create or replace function analysis.shows_suspects() returns boolean
language sql stable parallel safe as $$
  select coalesce(current_setting('querymill.suspects', true), '') = 'show'
$$;
comment on function analysis.shows_suspects() is 'True if the views show answers from suspect runs. To show these answers: set querymill.suspects = ''show''.';
