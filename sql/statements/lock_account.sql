-- Locks an account's row.
select from accounts where id = :account for no key update
