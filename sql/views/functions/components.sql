-- Connected components of a graph, given the two ends of each edge.
create or replace function analysis.components(ends_a text[], ends_b text[])
returns table (node text, component text)
language plpgsql immutable parallel safe as $$
declare
  names text[];
  a integer[];
  b integer[];
  parent integer[];
  x integer;
  y integer;
begin
  select array_agg(each_end order by each_end collate "C")
  into names
  from (
    select each_end
    from unnest(ends_a || ends_b) as each_end
    group by each_end
  ) as ends;
  if names is null then
    return;
  end if;
  select array_agg(first.place::integer), array_agg(second.place::integer)
  into a, b
  from unnest(ends_a, ends_b) as edge (a, b)
  join unnest(names) with ordinality as first (name, place) on first.name = edge.a
  join unnest(names) with ordinality as second (name, place) on second.name = edge.b;
  parent := array(select generate_series(1, cardinality(names)));
  -- Union-find takes almost linear time. A recursive query would visit every pair of nodes in a component.
  for i in 1 .. cardinality(a) loop
    x := a[i];
    y := b[i];
    while parent[x] <> x loop
      parent[x] := parent[parent[x]];
      x := parent[x];
    end loop;
    while parent[y] <> y loop
      parent[y] := parent[parent[y]];
      y := parent[y];
    end loop;
    if x < y then
      parent[y] := x;
    elsif y < x then
      parent[x] := y;
    end if;
  end loop;
  for i in 1 .. cardinality(names) loop
    x := i;
    while parent[x] <> x loop
      x := parent[x];
    end loop;
    node := names[i];
    component := names[x];
    return next;
  end loop;
end
$$;
comment on function analysis.components(text[], text[]) is 'Connected components of a graph. The arguments are arrays of equal length with the two ends of each edge. Each component is named after its first node in byte order.';
