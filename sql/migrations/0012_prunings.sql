-- Which bodies were removed on purpose, so that any other one that is missing is missed.

create table prunings (
  id bigint generated always as identity primary key,
  received_before timestamptz not null,
  begun_at timestamptz not null default clock_timestamp()
);
comment on table prunings is 'Removals of raw bodies by age: a body that is missing and younger than all of these was not pruned.';
comment on column prunings.id is 'Number of the removal.';
comment on column prunings.received_before is 'Bodies received before this were removed, and no others.';
comment on column prunings.begun_at is 'When it was begun.';

-- What was pruned before this was written down.
insert into prunings (received_before)
select greatest(
  max(s.fetched_at) + interval '1 millisecond',
  (select min(received_at) from raw_answers)
)
from searches s
where not exists (select from raw_answers r where r.call_id = s.call_id)
having count(*) > 0;
