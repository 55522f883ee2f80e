-- Which intents and sentiments the answers carry, each day.
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
comment on view analysis.label_mix is 'Intent and sentiment of the answers, each day: how many queries and which share of the weight carries each label.';
comment on column analysis.label_mix.kind is 'intent or sentiment.';
comment on column analysis.label_mix.label is 'Label of the API, whatever it says; null where an answer has none.';
comment on column analysis.label_mix.queries is 'Queries with that label.';
comment on column analysis.label_mix.weight is 'Sum of their weights.';
comment on column analysis.label_mix.share is 'Their share of the weight, 0 to 1.';
