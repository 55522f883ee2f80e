-- Stores each distinct query in :"held" as one member of the list :list. If a query is on several lines,
-- the most urgent priority, highest weight, lowest interval and age, first text and target, and all tags apply.
--
-- :plain  true if the lines set no texts, targets or tags (only numbers, such as priorities)
--
-- The list is locked, so no row needs a conflict check. Rows are added in the order of their ids.
merge into list_queries as member
using (
  select
    lines.id, lines.priority, lines.weight, lines.cpc, lines.difficulty, lines.every_days, lines.max_age_ms,
    targets.target, coalesce(labels.tags, '{}') as tags, first_line.given
  from (
    select
      id, min(ord) as ord, min(priority) as priority, max(weight) as weight,
      max(cpc) as cpc, max(difficulty) as difficulty,
      min(every_days) as every_days, min(max_age_ms) as max_age_ms
    from :"held"
    group by id
  ) as lines
  left join :"held" as first_line on not :plain::boolean and first_line.ord = lines.ord
  left join (
    select id, array_agg(distinct tag order by tag) as tags
    from :"held"
    cross join lateral unnest(string_to_array(tags, E'\x1d')) as tag
    where not :plain::boolean and tags is not null
    group by id
  ) as labels on labels.id = lines.id
  left join (
    select distinct on (id) id, target
    from :"held"
    where not :plain::boolean and target is not null
    order by id, ord
  ) as targets on targets.id = lines.id
  order by lines.id
) as held
on member.list_id = :list::bigint and member.query_id = held.id
when matched then update set
  priority = held.priority,
  weight = held.weight,
  cpc = held.cpc,
  difficulty = held.difficulty,
  every_days = held.every_days,
  max_age_ms = held.max_age_ms,
  target_url = held.target,
  tags = held.tags,
  given = held.given,
  last_seen = now()
when not matched then insert (
  list_id, query_id, priority, weight, cpc, difficulty, every_days, max_age_ms, target_url, tags, given
) values (
  :list::bigint, held.id, held.priority, held.weight, held.cpc, held.difficulty, held.every_days, held.max_age_ms,
  held.target, held.tags, held.given
)
