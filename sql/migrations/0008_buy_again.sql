-- A task that is to be bought again must not be served with the very answer that its owner has had enough of, however
-- young that is.
alter table tasks add column answers_after timestamptz;
comment on column tasks.answers_after is 'Answers received before this are not used again for it: it was opened to be bought once more. Null for all others.';
