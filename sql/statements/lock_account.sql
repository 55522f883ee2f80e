-- Locks the row of an account.
select from accounts where id = :account for no key update
