-- Reads the domains at the given positions. Parameters: :searches, :positions (bigint[], one value per position).
select distinct on (asked.search_id, asked.position) asked.search_id, asked.position, held.domain
from unnest(
  :searches::bigint[],
  :positions::bigint[]
) as asked (search_id, position)
join result_domains as held on held.search_id = asked.search_id and held.position = asked.position
where held.domain is not null
order by asked.search_id, asked.position, held.ordinal;
