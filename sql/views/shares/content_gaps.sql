-- Queries for which a rival is in the top 10 and our domain is missing from the top 20 (or from a shorter answer).
create or replace view analysis.content_gaps as
with ours as materialized (
  select distinct domain
  from analysis.ours_on(current_date)
),
asked as materialized (
  select latest.query_id, latest.q, latest.search_id, latest.depth, latest.fetched_at, weights.weight
  from analysis.latest
  join analysis.latest_weights as weights using (query_id)
  where latest.depth >= 10
),
held as materialized (
  select asked.search_id, shown.domain, shown.place >> 20 as position
  from asked
  cross join lateral analysis.domains_in(asked.search_id) as shown
),
near as materialized (
  select held.search_id, held.domain
  from held
  join ours using (domain)
  where held.position <= 20
    -- If a result has no position, its index is used.
    or exists (
      select
      from analysis.shown_in(held.search_id) as shown
      where shown.domain = held.domain
        and shown.position is null
        and shown.ordinal <= 20
    )
)
select
  asked.query_id,
  asked.q,
  ours.domain as own_domain,
  rivals.domain,
  rivals.position,
  asked.weight,
  asked.depth,
  asked.fetched_at
from asked
join held as rivals using (search_id)
cross join ours
where rivals.position <= 10
  and rivals.domain not in (select domain from ours)
  and (asked.search_id, ours.domain) not in (select search_id, domain from near);
comment on view analysis.content_gaps is 'Queries in the current lists for which another domain is in the top 10 and our domain is not in the top 20. Only the newest answers with a depth of at least ten are considered. If the depth is below twenty, our domain does not appear anywhere in the answer. The depth column shows the last position of the answer.';
comment on column analysis.content_gaps.own_domain is 'Our own domain, which is not in the top 20.';
comment on column analysis.content_gaps.domain is 'Other domain that ranks in the top 10.';
comment on column analysis.content_gaps.position is 'Best position of the other domain.';
comment on column analysis.content_gaps.weight is 'Highest weight of the query in any current list. If a list sets no weight for the query, a weight of 1 is used.';
