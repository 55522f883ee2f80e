-- Labels and weight of each query by day, combined from all lists that contained it.
create or replace view analysis.query_days as
select
  days.run_date,
  days.query_id,
  days.weight,
  days.tags,
  -- Labels for parameters and labels from lists share a column, so that slices need only this column.
  case
    -- A label that comes both from a list and from a parameter is counted only once.
    when days.tags && kinds.labels
      then array(select distinct label from unnest(days.tags || kinds.labels) as label order by label)
    else days.tags || kinds.labels
  end as slices
from (
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
    end as tags,
    array_agg(distinct 'list=' || list) as lists
  from analysis.memberships
  group by run_date, query_id
) as days
left join queries on queries.id = days.query_id
cross join lateral (
  select analysis.kinds_of(queries.device, queries.gl, queries.hl, queries.location) || days.lists as labels
) as kinds;
comment on view analysis.query_days is 'Labels and weight of each query on each day, over all lists in which the query was asked. These lists'' labels are combined, and the highest weight is used.';
comment on column analysis.query_days.tags is 'Labels of the query, from the lists.';
comment on column analysis.query_days.slices is 'Labels of the query, including its parameters (device=, country=, language=, place=) and the lists in which it was asked (list=).';
