-- Connected components of a graph, given the two ends of each edge.
create or replace function analysis.components(ends_a integer[], ends_b integer[])
returns table (node integer, component integer)
language plpgsql immutable parallel safe as $$
declare
  parent integer[];
  x integer;
  y integer;
begin
  parent := array(
    select generate_series(1, max(each_end))
    from unnest(ends_a || ends_b) as each_end
  );
  -- Union-find takes almost linear time. A recursive query would visit every pair of nodes in a component.
  for i in 1 .. coalesce(cardinality(ends_a), 0) loop
    -- The edges of one node usually follow each other, so its component is looked up once.
    if i = 1 or ends_a[i] <> ends_a[i - 1] then
      x := ends_a[i];
      while parent[x] <> x loop
        parent[x] := parent[parent[x]];
        x := parent[x];
      end loop;
    end if;
    y := ends_b[i];
    while parent[y] <> y loop
      parent[y] := parent[parent[y]];
      y := parent[y];
    end loop;
    if x < y then
      parent[y] := x;
    elsif y < x then
      parent[x] := y;
      x := y;
    end if;
  end loop;
  for i in 1 .. cardinality(parent) loop
    x := i;
    while parent[x] <> x loop
      x := parent[x];
    end loop;
    node := i;
    component := x;
    return next;
  end loop;
end
$$;
comment on function analysis.components(integer[], integer[]) is 'Connected components of a graph whose nodes are numbered from 1. The arguments are arrays of equal length with the two ends of each edge. Each component is named after its lowest node.';
