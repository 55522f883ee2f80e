-- Counts the source queries, and the ranked candidates from their answers. No parameters.
select
  (select count(*) from pg_temp.frontier_sources) as answered,
  (select count(*) from pg_temp.frontier_ranked) as candidates;
