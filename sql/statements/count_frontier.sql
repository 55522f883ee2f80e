-- Counts the queries with answers that were used, and the candidates ranked from these answers. No parameters.
select
  (select count(*) from pg_temp.frontier_sources) as answered,
  (select count(*) from pg_temp.frontier_ranked) as candidates;
