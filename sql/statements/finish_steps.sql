-- Stores the differences between the answers from a day and the previous answers to the same queries.
insert into finished_steps
  (finish_id, query_id, search_id, fetched_at, previous_search_id, volatility, depth, previous_depth,
  previous_run_date, compared_depth, entered, left_top_10, stayed, switched, retitled,
  relabelled, moves, step, since, ended)
select
  :finish::bigint, query_id, search_id, fetched_at, previous_search_id, volatility, depth,
  previous_depth, previous_run_date, compared_depth, entered, left_top_10, stayed, switched, retitled,
  relabelled, moves, step, since, ended
from analysis.compared_on(:day::date)
