-- One row for each label of each query on each day; the * label applies to every query.
create or replace view analysis.query_tags as
select query_days.run_date, query_days.query_id, tag collate "C" as tag, query_days.weight
from analysis.query_days
cross join unnest(array_remove(query_days.slices, '*') || '*'::text) as tag;
comment on view analysis.query_tags is 'One row for each label of each query on each day. The labels are the labels from the query''s lists, the labels device=, country=, language=, place= and list=, and * for every query.';
