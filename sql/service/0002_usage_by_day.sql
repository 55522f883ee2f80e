-- Drops the view usage_by_day, because the queries of the service read usage and usage_sums directly.

drop view usage_by_day;
