-- Drops a view that said again what the service asks of usage and usage_sums.

drop view usage_by_day;
