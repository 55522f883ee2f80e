-- Which groups of queries split, merged, came or went between two days?
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :shared = 4 (least number of common pages among the first ten)
select change, previous_cluster, cluster, queries, previous_size, size
from analysis.group_changes(analysis.since(:day::date, :days::integer), :day::date, :shared::integer)
order by change = 'kept', change, queries desc, previous_cluster, cluster;
