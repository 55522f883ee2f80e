-- For which queries a page was ever shown: what a question about one page begins with. An index on pages of results would
-- be written for each result of each answer; this has a row for each page of a query, the first time it is seen.

create table seen_pages (
  page_id uuid not null,
  query_id uuid not null,
  primary key (page_id, query_id)
);
comment on table seen_pages is 'Pages that answers of finished days showed, with the queries that they answered: all of them, and perhaps some that a later reading took back. Where a page stood and when is asked of the answers to these queries.';
comment on column seen_pages.page_id is 'The page.';
comment on column seen_pages.query_id is 'The query.';

-- What was kept before has no such rows: it is kept again.
delete from finished_days;
