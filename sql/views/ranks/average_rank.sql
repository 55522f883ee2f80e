-- Average place of each domain, in the two ways that are in use.
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
comment on view analysis.average_rank is 'Average place of each domain, over the queries it ranks for, and with a number that stands in where it does not rank. Neither means anything without the other.';
comment on column analysis.average_rank.queries is 'Queries of the label with an observation that day.';
comment on column analysis.average_rank.ranked is 'Of these, queries that the domain ranks for.';
comment on column analysis.average_rank.average_where_ranked is 'Average best place over the queries it ranks for; null when there is none. Falls away from a query make it better.';
comment on column analysis.average_rank.average_with_stand_in is 'Average over all queries, with the stand-in where the domain does not rank.';
comment on column analysis.average_rank.stand_in is 'The number that stands in for "not ranked": 100, unless the setting querymill.not_ranked_as says otherwise.';
