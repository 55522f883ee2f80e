-- The moves of the given domains on a day, each compared with earlier moves for the same query.
create or replace function analysis.judged_moves(night date, domains text[], most_answers integer default 30)
returns table (
  query_id uuid, q text, domain text, run_date date, previous_position bigint, "position" bigint, change text,
  places bigint, earlier_moves bigint, as_great bigint, chance double precision, verdict text
)
language sql stable parallel safe as $$
  select
    moves.query_id, moves.q, moves.domain, moves.run_date, moves.previous_position, moves.position, moves.change,
    moves.places, earlier.moves, earlier.as_great,
    -- The move itself is also counted, so the chance is never zero.
    (earlier.as_great + 1)::double precision / (earlier.moves + 1),
    case
      when earlier.moves < 60 then 'unknown'
      when (earlier.as_great + 1)::double precision / (earlier.moves + 1) <= 0.05 then 'significant'
      else 'noise'
    end
  from analysis.movers_on(night, domains) as moves
  cross join lateral (
    -- The stored moves are in ascending order, so width_bucket finds the number of smaller moves without reading them all.
    select
      coalesce(sum(cardinality(past.moves)), 0)::bigint as moves,
      coalesce(sum(cardinality(past.moves) - width_bucket(moves.places - 1, past.moves)), 0)::bigint as as_great
    from (
      select *
      from analysis.step_days as steps
      where steps.query_id = moves.query_id
        and steps.run_date < night
        and steps.previous_search_id is not null
      order by steps.run_date desc
      limit most_answers
    ) as steps
    cross join lateral (
      select coalesce(
        steps.moves,
        (
          select array_agg(moves_of.places order by moves_of.places)
          from analysis.moves_of(steps.search_id, steps.depth, steps.previous_search_id, steps.previous_depth) as moves_of
        ),
        '{}'
      ) as moves
    ) as past
  ) as earlier
  where moves.change <> 'same'
$$;
comment on function analysis.judged_moves(date, text[], integer) is 'Moves of domains on a day, compared with earlier moves of all domains for the same query. The third argument limits the earlier answers considered (30 by default). chance is the fraction of moves that are at least as large, including this move. The verdict is significant if chance is 0.05 or less, noise if it is higher, and unknown with fewer than sixty earlier moves.';
