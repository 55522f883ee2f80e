-- Counts source queries and ranked candidates. No parameters.
select
  (select count(*) from pg_temp.frontier_sources) as answered,
  (select count(*) from pg_temp.frontier_ranked) as candidates;
