-- Intents and sentiments of the answers, by day.
create or replace view analysis.label_mix as
select
  run_date,
  tag,
  kind,
  label,
  queries,
  weight,
  weight / nullif(sum(weight) over (partition by run_date, tag, kind), 0) as share
from (
  select
    observations.run_date, query_tags.tag, labels.kind, labels.label,
    count(*) as queries, sum(query_tags.weight) as weight
  from analysis.observations
  join analysis.query_tags using (run_date, query_id)
  cross join lateral (
    values ('intent', observations.intent), ('sentiment', observations.sentiment)
  ) as labels (kind, label)
  group by observations.run_date, query_tags.tag, labels.kind, labels.label
) as counted;
comment on view analysis.label_mix is 'Number of queries and share of the total weight for each intent and sentiment, by day.';
comment on column analysis.label_mix.kind is 'Kind of label: intent or sentiment.';
comment on column analysis.label_mix.label is 'Label as given by the API; null if the answer has no label.';
comment on column analysis.label_mix.queries is 'Number of queries whose answer has this label.';
comment on column analysis.label_mix.weight is 'Sum of the weights of the queries whose answer has this label.';
comment on column analysis.label_mix.share is 'Weight of the queries with this label, divided by the weight of all queries, from 0 to 1.';
