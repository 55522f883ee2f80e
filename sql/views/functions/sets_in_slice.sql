-- Label sets of finished days that belong to the current slice.
create or replace function analysis.sets_in_slice() returns bigint[]
language sql stable parallel safe as $$
  -- Adds 0, because "null in (...)" is false for an empty list, but unknown for a list with elements.
  select array_prepend(0, array_agg(sets.set_id))
  -- A set of labels is the same on all days, so each set is evaluated once.
  from (select distinct on (set_id) set_id, labels from public.finished_labels order by set_id) as sets
  where analysis.holds(sets.labels)
$$;
comment on function analysis.sets_in_slice() is 'Ids of the label sets in finished_labels that match analysis.slice().';
