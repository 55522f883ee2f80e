-- Stores the differences between the answers from a day and the previous answers to the same queries. Also counts the
-- pages in the top 10 and the pages that left, by the length of their stays. The day's label sets must already be stored.
with stored as (
  insert into finished_steps
    (finish_id, query_id, search_id, fetched_at, previous_search_id, volatility, depth, previous_depth,
    previous_run_date, compared_depth, entered, left_top_10, stayed, switched, retitled,
    relabelled, moves, step, since, ended)
  select
    :finish::bigint, query_id, search_id, fetched_at, previous_search_id, volatility, depth,
    previous_depth, previous_run_date, compared_depth, entered, left_top_10, stayed, switched, retitled,
    relabelled, moves, step, since, ended
  from analysis.compared_on(:day::date)
  returning query_id, step, since, ended
)
insert into finished_stays (finish_id, set_id, over, answers, pages)
select :finish::bigint, kept.set_id, stays.over, stays.answers, count(*)
from stored
join finished_queries as kept on kept.finish_id = :finish::bigint and kept.query_id = stored.query_id
cross join lateral analysis.stays_of(stored.step, stored.since, stored.ended) as stays
where stored.step is not null
group by kept.set_id, stays.over, stays.answers
