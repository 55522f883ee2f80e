-- Queries that answers hold together, on the newest day.
create or replace view analysis.keyword_groups as
select found.run_date, found.group_name, found.query_id, found.q, found.weight, found.size, found.group_id
from (select analysis.newest_day() as night) as newest
cross join lateral analysis.keyword_groups_on(newest.night) as found;
comment on view analysis.keyword_groups is 'Groups of queries on the newest full day, connected by pairs that share at least four of their first ten pages. Other days and limits: analysis.keyword_groups_on(day, least_shared).';
comment on column analysis.keyword_groups.group_name is 'Text of the heaviest query of the group, which stands for it.';
comment on column analysis.keyword_groups.size is 'Queries in the group.';
comment on column analysis.keyword_groups.group_id is 'The group: the smallest query_id in it. Groups on two devices or in two countries may have one text.';
