-- Domains that appear in the same answers as our domains.
create or replace view analysis.competitors as
with ours as materialized (
  select distinct domain
  from analysis.ours_on(current_date)
),
asked as materialized (
  select latest.query_id, latest.search_id
  from analysis.latest
  join analysis.latest_weights using (query_id)
),
shown as materialized (
  select asked.query_id, held.domain
  from asked
  cross join lateral analysis.domains_in(asked.search_id) as held
  where held.place is not null
),
spread as materialized (
  select domain, count(*) as queries
  from shown
  group by domain
),
everything as materialized (
  select count(*) as queries from asked
)
select
  ours.domain as own_domain,
  rivals.domain,
  count(*) as shared,
  own_spread.queries as own_queries,
  spread.queries as queries,
  count(*)::double precision * everything.queries / (own_spread.queries * spread.queries) as lift,
  spread.queries > 0.4 * everything.queries as everywhere
from ours
join shown as mine on mine.domain = ours.domain
join shown as rivals on rivals.query_id = mine.query_id and rivals.domain not in (select domain from ours)
join spread as own_spread on own_spread.domain = ours.domain
join spread on spread.domain = rivals.domain
cross join everything
group by ours.domain, rivals.domain, own_spread.queries, spread.queries, everything.queries;
comment on view analysis.competitors is 'Domains that appear together with our domains in the newest answers to the queries in the current lists.';
comment on column analysis.competitors.own_domain is 'One of our domains.';
comment on column analysis.competitors.domain is 'Domain that is not ours.';
comment on column analysis.competitors.shared is 'Number of queries whose newest answer shows both domains.';
comment on column analysis.competitors.own_queries is 'Number of queries whose newest answer shows our domain.';
comment on column analysis.competitors.queries is 'Number of queries whose newest answer shows the other domain.';
comment on column analysis.competitors.lift is 'Number of answers that show both domains, divided by the number expected by chance.';
comment on column analysis.competitors.everywhere is 'True if the domain appears in more than 40% of all answers. Very common domains are either rivals for every query, or general sites such as encyclopaedias.';
