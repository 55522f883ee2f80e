-- Latest volume, cost per click and difficulty of each query, including queries that are no longer in their list.
create or replace view analysis.latest_metrics as
select
  list_queries.query_id,
  max(list_queries.weight) as volume,
  max(list_queries.cpc) as cpc,
  max(list_queries.difficulty) as difficulty
from list_queries
group by list_queries.query_id;
comment on view analysis.latest_metrics is 'Latest volume, cost per click and difficulty of each query in the lists. Each column has the highest value over all lists that contain or contained the query; null if no list has a value.';
comment on column analysis.latest_metrics.volume is 'Highest weight of the query. In a list with a search volume column, the weight is the search volume. Null if no list sets a weight.';
comment on column analysis.latest_metrics.cpc is 'Advertising cost per click, in the currency of the list; null if no list has a value.';
comment on column analysis.latest_metrics.difficulty is 'Difficulty of ranking, as given by the tool that created the list; null if no list has a value.';
