-- How many pages entered and left the first ten, each night.
create or replace view analysis.churn as
select
  run_date,
  count(distinct search_id) as queries,
  count(*) filter (where position <= places and (previous_position > places or previous_position is null)) as entered,
  count(*) filter (where previous_position <= places and (position > places or position is null)) as left_it,
  count(*) filter (where position <= places and previous_position <= places) as stayed
from (
  select *, least(10, depth, previous_depth) as places
  from analysis.page_steps
) as compared
where places > 0
group by run_date;
comment on view analysis.churn is 'How many pages entered and left the first ten results, over all queries of a night; of answers less than ten deep, as many places as both have.';
comment on column analysis.churn.queries is 'Queries that could be compared with their answer before.';
comment on column analysis.churn.entered is 'Pages that entered.';
comment on column analysis.churn.left_it is 'Pages that left.';
comment on column analysis.churn.stayed is 'Pages that are in both.';
