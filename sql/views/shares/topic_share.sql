-- Share of voice within each topic that the API reports.
create or replace view analysis.topic_share as
with topics as not materialized (
  select distinct
    observations.run_date, observations.query_id, observations.search_id, clusters.label as topic,
    coalesce(query_days.weight, 1) as weight
  from analysis.observations
  join search_clusters on search_clusters.search_id = observations.search_id
  join clusters on clusters.id = search_clusters.cluster_id
  left join analysis.query_days using (run_date, query_id)
),
totals as (
  select run_date, topic, count(*) as queries, sum(weight) as weight
  from topics
  group by run_date, topic
)
select
  totals.run_date,
  totals.topic,
  held.domain,
  held.clicks / nullif(totals.weight, 0) as share_of_voice,
  totals.queries,
  held.ranked
from (
  select
    topics.run_date, topics.topic, held.domain,
    count(*) as ranked, coalesce(sum(topics.weight * curve.ctr), 0) as clicks
  from topics
  cross join lateral analysis.domains_in(topics.search_id) as held
  left join analysis.ctr as curve on curve.position = held.place >> 20
  where held.place is not null
  group by topics.run_date, topics.topic, held.domain
) as held
join totals using (run_date, topic);
comment on view analysis.topic_share is 'Share of voice of each domain within each topic (cluster) that the API reports, by day. A query with several topics is counted once under each topic.';
comment on column analysis.topic_share.topic is 'Label of the topic.';
comment on column analysis.topic_share.share_of_voice is 'Share of clicks, from 0 to 1.';
comment on column analysis.topic_share.queries is 'Number of queries with the topic that have an observation on the run date.';
comment on column analysis.topic_share.ranked is 'Number of queries with the topic for which the domain ranks.';
