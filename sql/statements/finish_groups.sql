-- Stores the groups of queries whose answers on a day share pages.
insert into finished_groups (finish_id, query_id, group_id)
select :finish::bigint, query_id, group_id
from analysis.keyword_groups_on(:day::date)
