-- What counts for each query on each day: its labels and its weight, over all lists that asked it.
create or replace view analysis.query_days as
select
  run_date,
  query_id,
  max(weight) as weight,
  case count(*)
    when 1 then min(tags)
    else array(
      select distinct tag
      from unnest(string_to_array(string_agg(array_to_string(tags, chr(31)), chr(31)), chr(31))) as tag
      where tag <> ''
      order by tag
    )
  end as tags
from analysis.memberships
group by run_date, query_id;
comment on view analysis.query_days is 'The labels and the weight of each query on each day, over all lists that asked it: labels united, the greatest weight.';
comment on column analysis.query_days.tags is 'Labels.';
