-- Stores the differences between the answers from a day and the previous answers to the same queries. Also counts the
-- pages in the top 10 and the pages that left, by the length of their stays.
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
  returning step, since, ended
)
insert into finished_stays (finish_id, over, answers, pages)
select :finish::bigint, stays.over, stays.answers, count(*)
from stored
cross join lateral analysis.stays_of(stored.step, stored.since, stored.ended) as stays
where stored.step is not null
group by stays.over, stays.answers
