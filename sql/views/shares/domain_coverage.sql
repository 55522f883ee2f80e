-- Share of the queries for which each domain ranks.
create or replace view analysis.domain_coverage as
select
  run_date,
  tag,
  domain,
  queries,
  top_3::double precision / queries as share_in_top_3,
  top_10::double precision / queries as share_in_top_10,
  ranked::double precision / queries as share_ranked
from analysis.domain_days;
comment on view analysis.domain_coverage is 'Share of the queries with each label for which each domain ranks, by day.';
comment on column analysis.domain_coverage.queries is 'Number of queries with the label that have an observation on the run date.';
comment on column analysis.domain_coverage.share_in_top_3 is 'Share of queries for which the domain ranks in positions 1 to 3.';
comment on column analysis.domain_coverage.share_in_top_10 is 'Share of queries for which the domain ranks in positions 1 to 10.';
comment on column analysis.domain_coverage.share_ranked is 'Share of queries for which the domain ranks, at any position.';
