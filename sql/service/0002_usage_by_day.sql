-- Drops a view that duplicated the queries of the service on usage and usage_sums.

drop view usage_by_day;
