-- Adds the members of list :list, as last read, to :"wanted", from which tasks are created. :labels
-- holds the labels that have a share of the credits.
insert into :"wanted" (line, id, priority, weight, num, device, every_days, max_age_ms, share)
select
  row_number() over (order by member.priority, member.query_id), query.id, member.priority,
  member.weight, query.num, query.device, member.every_days, member.max_age_ms,
  (
    select min(place) - 1
    from unnest(:labels::text[]) with ordinality as labels (label, place)
    where label = any(member.tags)
  )
from list_queries as member
join queries as query on query.id = member.query_id
where member.list_id = :list::bigint
  and member.last_seen = (select max(last_seen) from list_queries where list_id = :list::bigint)
