-- Domains that show up where ours do.
create or replace view analysis.competitors as
with ours as materialized (
  select distinct domain
  from analysis.ours_on(current_date)
),
-- What left all lists does not count any more.
asked as materialized (
  select latest.query_id, latest.search_id
  from analysis.latest
  join analysis.latest_weights using (query_id)
),
shown as materialized (
  select distinct latest.query_id, result_domains.domain
  from asked as latest
  join public.result_domains on result_domains.search_id = latest.search_id
  where result_domains.position is not null
),
spread as materialized (
  select domain, count(*) as queries
  from shown
  where domain is not null
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
comment on view analysis.competitors is 'Domains of others in the newest answers that show ours, over the queries of the lists as they are now.';
comment on column analysis.competitors.own_domain is 'Domain of ours.';
comment on column analysis.competitors.domain is 'The other domain.';
comment on column analysis.competitors.shared is 'Queries whose newest answer shows both.';
comment on column analysis.competitors.own_queries is 'Queries whose newest answer shows ours.';
comment on column analysis.competitors.queries is 'Queries whose newest answer shows the other one.';
comment on column analysis.competitors.lift is 'How many times more often both stand together than chance would have it.';
comment on column analysis.competitors.everywhere is 'True for a domain in more than 40 % of all answers: a rival for every query, or a place like an encyclopaedia that competes with nobody in particular.';
