-- Locks the rows of runs, in order of id.
select from runs where id = any(:runs::bigint[]) order by id for no key update
