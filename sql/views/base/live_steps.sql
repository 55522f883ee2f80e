-- Each new answer with its difference from the previous answer, computed from the answers.
create or replace view analysis.live_steps as
select
  steps.query_id,
  steps.run_date,
  steps.search_id,
  steps.fetched_at,
  steps.previous_search_id,
  steps.previous_run_date,
  steps.depth::integer as depth,
  steps.previous_depth::integer as previous_depth,
  compared.volatility,
  compared.compared_depth,
  compared.entered,
  compared.left_top_10,
  compared.stayed
from analysis.steps
left join (
  select
    query_id, run_date,
    coalesce(
      sum(abs(
        case when position <= places then position else places + 1 end
        - case when previous_position <= places then previous_position else places + 1 end
      ))
      -- The divisor is the difference that would result if every page were replaced. This
      -- difference is computed from the actual positions, because positions may be shared or
      -- missing.
      / nullif(sum(greatest(places + 1 - position, 0) + greatest(places + 1 - previous_position, 0)), 0)::double precision,
      0
    ) as volatility,
    max(places)::integer as compared_depth,
    (count(*) filter (where position <= firsts and (previous_position > firsts or previous_position is null)))::integer as entered,
    (count(*) filter (where previous_position <= firsts and (position > firsts or position is null)))::integer as left_top_10,
    (count(*) filter (where position <= firsts and previous_position <= firsts))::integer as stayed
  from (
    select *, least(depth, previous_depth) as places, least(10, depth, previous_depth) as firsts
    from analysis.page_steps
  ) as placed
  where places > 0
  group by query_id, run_date
) as compared on compared.query_id = steps.query_id and compared.run_date = steps.run_date;
comment on view analysis.live_steps is 'Difference between each new answer to a query and the previous answer, computed from the answers. analysis.step_days returns the same rows, but reads stored steps for finished days.';
comment on column analysis.live_steps.volatility is 'Difference from the previous answer, from 0 (the same) to 1 (nothing in common); null if the two answers cannot be compared.';
comment on column analysis.live_steps.compared_depth is 'Number of positions that both answers contain; null if the two answers cannot be compared.';
comment on column analysis.live_steps.entered is 'Number of pages that entered the top 10.';
comment on column analysis.live_steps.left_top_10 is 'Number of pages that left the top 10.';
comment on column analysis.live_steps.stayed is 'Number of pages that are in the top 10 of both answers.';
