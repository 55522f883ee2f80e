-- Groups of queries whose answers share pages, on the newest day.
create or replace view analysis.keyword_groups as
select found.run_date, found.group_name, found.query_id, found.q, found.weight, found.size, found.group_id
from (select analysis.newest_day() as night) as newest
cross join lateral analysis.keyword_groups_on(newest.night) as found;
comment on view analysis.keyword_groups is 'Groups of queries on the newest full day. Two queries are connected if their top 10 results share at least four pages. For other days and limits, use analysis.keyword_groups_on(day, least_shared).';
comment on column analysis.keyword_groups.group_name is 'Text of the query with the highest weight in the group.';
comment on column analysis.keyword_groups.size is 'Number of queries in the group.';
comment on column analysis.keyword_groups.group_id is 'Id of the group: the lowest query_id in the group. Groups for two devices or countries can have the same name.';
