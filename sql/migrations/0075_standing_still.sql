-- A run is judged by the time that it was worked on, a lasting change becomes the usual, and what says nothing about ranks
-- hides none.

alter table night_health
  add column paused_minutes double precision not null default 0,
  add column remarks text[] not null default '{}',
  add column usual_from bigint;
comment on column night_health.minutes is 'From the making of the run to its end, pauses included.';
comment on column night_health.paused_minutes is 'Minutes of these in which nothing of it could be bought: its accounts stood still, or it had ended and was not yet opened again.';
comment on column night_health.reasons is 'Why it is suspect, a sentence each; none: it is not.';
comment on column night_health.remarks is 'What else is odd about it, a sentence each; its answers are shown all the same.';
comment on column night_health.usual_from is 'The first of three runs alike, of which this one is the third: later runs are compared with these three and those after them. Null: nothing changed for good with this run.';
comment on column night_health.judged_at is 'When it was judged; a run that goes on is judged again when it has ended again. Of a run that was cancelled or never began the figures are kept, without a judgement.';

-- Price and time alone left out nights whose ranks are good.
update night_health
set
  reasons = array(
    select reason from unnest(reasons) with ordinality as said (reason, place)
    where reason not like 'an answer cost %' and reason not like 'it took %'
    order by place
  ),
  remarks = array(
    select reason from unnest(reasons) with ordinality as said (reason, place)
    where reason like 'an answer cost %' or reason like 'it took %'
    order by place
  )
where cardinality(reasons) > 0;

-- Nor is a run judged that was cancelled, or of which nothing was asked.
update night_health
set reasons = '{}', remarks = '{}'
from runs
where runs.id = night_health.run_id
  and cardinality(reasons || remarks) > 0
  and (
    runs.state = 'cancelled'
    or not exists (
      select
      from tasks
      where tasks.run_id = runs.id
        and tasks.state not in ('reused', 'not_asked', 'unaffordable', 'cancelled')
    )
  );

update runs
set suspect = false
from night_health
where night_health.run_id = runs.id
  and runs.suspect
  and cardinality(night_health.reasons) = 0;
