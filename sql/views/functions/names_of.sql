-- Values that a label set has in one dimension, one row per value.
create or replace function analysis.names_of(labels text[], dimension text) returns setof text
language sql immutable parallel safe rows 2 as $$
  select '*'
  where dimension = 'all'
  union all
  select case when dimension = 'label' then label else substr(label, length(dimension) + 2) end
  from unnest(labels) as label
  where dimension <> 'all'
    and case when dimension = 'label' then label !~ '^(device|country|language|place|list)='
      else starts_with(label, dimension || '=')
    end
$$;
comment on function analysis.names_of(text[], text) is 'Values of one dimension in a label set, as in a row of analysis.label_sets. The dimension is device, country, language, place, list, label (labels from lists) or all (a single value, *).';
