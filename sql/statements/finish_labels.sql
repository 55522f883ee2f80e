-- Stores a day's label sets, with the number of queries in each set.
insert into finished_labels (finish_id, set_id, labels, queries, weight, planned, planned_weight)
select :finish::bigint, set_id, labels, queries, weight, planned, planned_weight
from analysis.labels_on(:day::date)
