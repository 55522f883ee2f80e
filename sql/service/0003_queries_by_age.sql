-- Old requests lose the text of their query instead of being replaced with daily sums.

drop table usage_sums;
create index usage_with_query on usage (at) where q <> '';
comment on column usage.q is 'Text of the query; empty once it is older than SERVICE_KEEP_QUERIES.';
