-- A check of the list for each of a million lines costs more than the lines themselves; the list is locked while
-- its lines are written, so that it cannot go away.
alter table list_queries drop constraint list_queries_list_id_fkey;

-- Declared for people and diagrams, checked by nobody: PostgreSQL has had such keys since version 18.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    execute 'alter table list_queries add foreign key (list_id) references lists not enforced';
  end if;
end
$$;
