-- Whether the views show answers of suspect runs. They do only if the setting querymill.suspects is "show".
create or replace function analysis.shows_suspects() returns boolean
language sql stable parallel safe as $$
  select coalesce(current_setting('querymill.suspects', true), '') = 'show'
$$;
comment on function analysis.shows_suspects() is 'True if the views show answers of suspect runs. To show them: set querymill.suspects = ''show''.';
