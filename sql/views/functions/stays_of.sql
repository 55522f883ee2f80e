-- Stays in the top 10 according to one row of finished_steps. Pages of a query's first answer are excluded, because it
-- is not known when they entered.
create or replace function analysis.stays_of(step smallint, since smallint[], ended smallint[])
returns table (over boolean, answers smallint)
language sql immutable parallel safe as $$
  -- unnest is in the select list, because it is several times slower in the "from" clause.
  select false, stays_of.step + 1::smallint - seen.entered
  from (select unnest(stays_of.since) as entered) as seen
  where seen.entered > 1
  union all
  select true, stays_of.step - gone.entered
  from (select unnest(stays_of.ended) as entered) as gone
  where gone.entered > 1
$$;
comment on function analysis.stays_of(smallint, smallint[], smallint[]) is 'Numbers of consecutive answers for which the pages of one answer have been in the top 10, and for which the pages that it no longer shows had been (over is true). The arguments are the columns of finished_steps.';
