-- What keyword tools say beside their queries, as numbers that analysts can use; and how a person said that a list is
-- read, so that the next night reads it in the same way.
alter table list_queries
  add column cpc double precision,
  add column difficulty double precision;
comment on column list_queries.cpc is 'What a click costs, in the currency of the tool that made the list; the greatest of merged lines.';
comment on column list_queries.difficulty is 'How hard it is to rank, as the tool that made the list says; the greatest of merged lines.';

alter table lists add column reading jsonb;
comment on column lists.reading is 'How a person said that the list is read (encoding, delimiter, columns), used again by the next reading that says nothing.';
