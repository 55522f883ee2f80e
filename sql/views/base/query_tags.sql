-- One row per query, day and label; the * label applies to every query.
create or replace view analysis.query_tags as
select query_days.run_date, query_days.query_id, tag collate "C" as tag, query_days.weight
from analysis.query_days
cross join unnest(array_remove(query_days.slices, '*') || '*'::text) as tag;
comment on view analysis.query_tags is 'One row per query, day and label. Each query has the labels from its lists, the labels device=, country=, language=, place= and list=, and the label *.';
