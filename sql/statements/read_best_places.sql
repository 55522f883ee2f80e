-- Reads the best positions of the given domains in the given answers. Parameters: :searches (bigint[]), :domains
-- (text[]; null: all domains).
select
  best.search_id, best.domain, best.place >> 20 as position, analysis.page_name(pages.url_key) as page
from (
  select held.search_id, held.domain, min(held.place) as place
  from unnest(:searches::bigint[]) as asked (search_id)
  cross join lateral (
    select *
    from result_domains
    where result_domains.search_id = asked.search_id
    offset 0
  ) as held
  where held.place is not null
    and held.domain is not null
    and (:domains::text[] is null or held.domain = any (:domains::text[]))
  group by held.search_id, held.domain
) as best
join organic_results as shown
  on shown.search_id = best.search_id
  and shown.ordinal = (best.place & 1048575)
left join pages on pages.id = shown.page_id;
