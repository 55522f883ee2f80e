-- Which heavier query could stand for each query, since they share pages?
select hub, q, weight, shared
from analysis.keyword_hubs
order by hub, weight desc nulls last, q;
