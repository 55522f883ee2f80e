-- Reads the answers on which alerts are based. Parameter: :searches (bigint[]).
select searches.id as search_id, coalesce(searches.depth, 0) as depth, array(
    -- Non-empty blocks that the specification does not define.
    select key
    from jsonb_each(case when jsonb_typeof(searches.extra) = 'object' then searches.extra else '{}' end)
    where value not in ('null', '[]', '{}', '""', 'false')
    order by key
  ) as features
from searches
where searches.id = any(:searches::bigint[]);
