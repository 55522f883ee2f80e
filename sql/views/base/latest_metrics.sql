-- What the tools behind the lists said last about each query, one that left its list included: how often it is asked, what a click costs.
create or replace view analysis.latest_metrics as
select
  list_queries.query_id,
  max(list_queries.weight) as volume,
  max(list_queries.cpc) as cpc,
  max(list_queries.difficulty) as difficulty
from list_queries
group by list_queries.query_id;
comment on view analysis.latest_metrics is 'What the lists said last about how much a query is asked, what a click costs and how hard it is: the greatest over all lists that hold it or held it, null where none says it.';
comment on column analysis.latest_metrics.volume is 'Weight of the query, which is the volume of searches where the list has one; null where no list names a weight.';
comment on column analysis.latest_metrics.cpc is 'What a click costs in advertising, in the currency of the list; null where no list says it.';
comment on column analysis.latest_metrics.difficulty is 'How hard it is to rank, as the tool that made the list says; null where none says it.';
