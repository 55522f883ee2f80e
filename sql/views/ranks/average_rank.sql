-- Average position of each domain, computed in two common ways.
create or replace view analysis.average_rank as
select
  run_date,
  tag,
  domain,
  queries,
  ranked,
  positions / nullif(ranked, 0) as average_where_ranked,
  (positions + (queries - ranked) * stand_in) / queries as average_with_stand_in,
  stand_in
from analysis.domain_days
cross join (
  select coalesce(nullif(current_setting('querymill.not_ranked_as', true), ''), '100')::double precision as stand_in
) as chosen;
comment on view analysis.average_rank is 'Average position of each domain, computed in two ways: over the queries for which the domain ranks, and over all queries. The second average assumes a substitute position for each query without a rank. Interpret the two averages together.';
comment on column analysis.average_rank.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.average_rank.ranked is 'Number of queries with the label for which the domain ranks.';
comment on column analysis.average_rank.average_where_ranked is 'Average best position over the queries for which the domain ranks; null if the domain does not rank for any query. This average improves if a low-ranking result disappears from an answer.';
comment on column analysis.average_rank.average_with_stand_in is 'Average best position over all queries. If the domain does not rank for a query, stand_in is used as its position.';
comment on column analysis.average_rank.stand_in is 'Substitute value for "not ranked": 100, unless the querymill.not_ranked_as setting has another value.';
