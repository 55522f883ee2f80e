-- Id of a set of labels, short enough to be stored in every row of a day's sums.
create or replace function analysis.set_id(labels text[]) returns bigint
language sql immutable parallel safe as $$
  select hashtextextended(array_to_string(labels, chr(31)), 0)
$$;
comment on function analysis.set_id(text[]) is 'Id of a set of labels, used to join label_sets and set_shares.';
