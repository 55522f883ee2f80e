-- A task that was bought again names its new answer: "the first one received" was no longer the whole truth.
comment on column tasks.search_id is 'The answer: the first one received since the task was last opened, or the one reused. Null while there is none.';
