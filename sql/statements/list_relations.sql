-- Lists the tables and views that can be exported, with the analysts' views first. No parameters.
select
  nspname || '.' || relname as name,
  quote_ident(nspname) || '.' || quote_ident(relname) as quoted
from pg_class
join pg_namespace on pg_namespace.oid = relnamespace
where nspname in ('analysis', 'public', 'notes')
  and relkind in ('r', 'v', 'm', 'p')
order by nspname, relname;
