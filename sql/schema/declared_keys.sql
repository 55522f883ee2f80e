-- Declares foreign keys for readers and diagram tools without enforcing them (possible since PostgreSQL 18).
do $$
declare
  declared text;
begin
  if current_setting('server_version_num')::integer < 180000 then
    return;
  end if;
  foreach declared in array array[
    'list_queries (query_id) references queries',
    'list_queries (list_id) references lists',
    'tasks (run_id) references runs',
    'tasks (query_id) references queries',
    'tasks (search_id) references searches',
    'tasks (run_id, slice) references slices',
    'calls (task_id) references tasks',
    'calls (query_id) references queries',
    'calls (account_id) references accounts',
    'calls (worker) references workers',
    'raw_answers (call_id) references calls',
    'searches (call_id) references calls',
    'searches (task_id) references tasks',
    'searches (query_id) references queries',
    'pages (domain_id) references domains',
    'organic_results (search_id) references searches',
    'organic_results (page_id) references pages',
    'organic_results (domain_id) references domains',
    'search_features (search_id) references searches',
    'search_features (page_id) references pages',
    'search_features (domain_id) references domains',
    'search_entities (search_id) references searches',
    'search_entities (entity_id) references entities',
    'search_clusters (search_id) references searches',
    'search_clusters (cluster_id) references clusters',
    'search_related_searches (search_id) references searches',
    'search_related_searches (related_search_id) references related_searches'
  ] loop
    execute format(
      'alter table %s add foreign key %s not enforced',
      split_part(declared, ' ', 1),
      substr(declared, position('(' in declared))
    );
  end loop;
end
$$;
