-- Reads ranked candidates in order. Parameters: :after (exclusive), :until (places).
select
  ranked.q, source.location, source.hl, source.gl, source.num, source.device,
  ranked.round, ranked.from_query, source.q as from_q, ranked.sources, ranked.weight
from pg_temp.frontier_ranked as ranked
join queries as source on source.id = ranked.from_query
where ranked.place > :after
  and ranked.place <= :until
order by ranked.place;
