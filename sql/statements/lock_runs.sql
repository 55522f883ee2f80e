-- Locks the rows of runs, in the order of ids.
select from runs where id = any(:runs::bigint[]) order by id for no key update
