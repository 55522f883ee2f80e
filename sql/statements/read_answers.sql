-- Rebuilds stored answers from their rows, one document per answer. Locks no rows. Parameter: :searches (bigint[]).
select
  s.id,
  jsonb_build_object(
    'q', q.q,
    'parse_error', s.parse_error,
    'intent', s.intent,
    'sentiment', s.sentiment,
    'credits_used', s.credits_used,
    'credits_remaining', s.credits_remaining,
    'extra', s.extra,
    'as_given', s.as_given,
    'organic_results', (
      select coalesce(jsonb_agg(jsonb_build_object(
        'position', r.position,
        'title', r.title,
        'url', p.url,
        'snippet', r.snippet,
        'domain', d.host,
        'extra', r.extra,
        'as_given', r.as_given
      ) order by r.ordinal), '[]')
      from organic_results r
      left join pages p on p.id = r.page_id
      left join domains d on d.id = r.domain_id
      where r.search_id = s.id
    ),
    'entities', (
      select coalesce(jsonb_agg(jsonb_build_object('name', e.name, 'type', e.type) order by x.ordinal), '[]')
      from search_entities x
      join entities e on e.id = x.entity_id
      where x.search_id = s.id
    ),
    'clusters', (
      select coalesce(jsonb_agg(c.label order by x.ordinal), '[]')
      from search_clusters x
      join clusters c on c.id = x.cluster_id
      where x.search_id = s.id
    ),
    'related_searches', (
      select coalesce(jsonb_agg(t.q order by x.ordinal), '[]')
      from search_related_searches x
      join related_searches t on t.id = x.related_search_id
      where x.search_id = s.id
    )
  ) as document
from searches s
join queries q on q.id = s.query_id
where s.id = any(:searches::bigint[])
order by s.id
