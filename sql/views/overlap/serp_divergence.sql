-- Difference between the answers to one text for two devices, places, languages or countries, by day.
create or replace view analysis.serp_divergence as
with shown as not materialized (
  select
    observations.run_date, observations.q, observations.query_id,
    array_agg(distinct pages.url_key) as pages
  from analysis.observations
  join (
    select q from queries group by q having count(*) > 1
  ) as several on several.q = observations.q
  join organic_results on organic_results.search_id = observations.search_id
  join pages on pages.id = organic_results.page_id
  where organic_results.position <= 10
  group by observations.run_date, observations.q, observations.query_id
)
select
  one.q,
  one.run_date,
  one.query_id,
  other.query_id as other_query_id,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  analysis.variant(others.device, others.location, others.hl, others.gl, others.num) as other_variant,
  common.shared,
  1 - common.shared::double precision / (cardinality(one.pages) + cardinality(other.pages) - common.shared) as divergence
from shown as one
join shown as other on other.run_date = one.run_date and other.q = one.q and other.query_id > one.query_id
join queries on queries.id = one.query_id
-- Queries that differ only in their number of results are not compared.
join queries as others
  on others.id = other.query_id
  and (others.device, others.location, others.hl, others.gl)
    is distinct from (queries.device, queries.location, queries.hl, queries.gl)
cross join lateral (
  select count(*)::integer as shared
  from unnest(one.pages) as page
  where page = any (other.pages)
) as common;
comment on view analysis.serp_divergence is 'Difference between the top 10 results for the same text on the same day for two devices, places, languages or countries.';
comment on column analysis.serp_divergence.other_query_id is 'Id of the other query with the same text.';
comment on column analysis.serp_divergence.variant is 'Parameters of the query, as returned by analysis.variant.';
comment on column analysis.serp_divergence.other_variant is 'Parameters of the other query, as returned by analysis.variant.';
comment on column analysis.serp_divergence.shared is 'Number of pages that appear in both answers.';
comment on column analysis.serp_divergence.divergence is 'Difference between the two answers, from 0 (the same pages) to 1 (no common page).';
