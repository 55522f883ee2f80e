-- Which pages are there to explain something, and how all words are spelled, not only those of titles.

alter table documents add column subject boolean not null default false;
comment on column documents.subject is 'True for a page that names what it is about: a feature, a specification.';
alter table spellings add column heads integer not null default 0;
comment on column spellings.heads is 'Those whose title or address holds it.';
comment on table spellings is 'Words of titles, addresses and texts as they are written: what a mistyped word can have meant.';
comment on column spellings.documents is 'Pages that hold it.';

-- Both are told by the file: it is loaded again.
delete from corpora
where name = 'shipped';
