-- The id of a query is derived from its key, so that the primary key keeps keys apart as well. A tree of the keys
-- themselves cost as much as all the rest of a large list, and nothing looked into it.
alter table queries drop constraint queries_key_key;

-- A list and its run are written in two transactions at the same time; the list is committed first, and that is when
-- its run looks for it.
alter table runs alter constraint runs_list_id_fkey deferrable initially deferred;

-- Each reading of a list writes when it last held each query: beside the row there is room for that, so that no tree
-- has to be told.
alter table list_queries set (fillfactor = 45);
