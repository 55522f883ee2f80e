-- The pages that live keys find offline, the words they hold, and the names that they are about.

create table documents (
  id integer generated always as identity primary key,
  url text not null unique,
  title text not null,
  body text not null,
  words text not null,
  lang text not null,
  shipped boolean not null,
  added_at timestamptz not null default now(),
  tsv tsvector not null generated always as (
    setweight(to_tsvector(
      case lang
        when 'de' then 'german'::regconfig
        when 'es' then 'spanish'::regconfig
        when 'fr' then 'french'::regconfig
        when 'it' then 'italian'::regconfig
        when 'nl' then 'dutch'::regconfig
        when 'pt' then 'portuguese'::regconfig
        when 'en' then 'english'::regconfig
        else 'simple'::regconfig
      end, title), 'A')
    || setweight(to_tsvector('english'::regconfig, words), 'B')
    || setweight(to_tsvector(
      case lang
        when 'de' then 'german'::regconfig
        when 'es' then 'spanish'::regconfig
        when 'fr' then 'french'::regconfig
        when 'it' then 'italian'::regconfig
        when 'nl' then 'dutch'::regconfig
        when 'pt' then 'portuguese'::regconfig
        when 'en' then 'english'::regconfig
        else 'simple'::regconfig
      end, body), 'D')
  ) stored
);
comment on table documents is 'Pages that can be found without a network.';
comment on column documents.id is 'Number of the page.';
comment on column documents.url is 'Address of the page.';
comment on column documents.title is 'Its title.';
comment on column documents.body is 'What it says, as plain text.';
comment on column documents.words is 'Words of title and address, taken apart: serviceWorker is found by service worker.';
comment on column documents.lang is 'Language of the text, which decides how its words are stemmed.';
comment on column documents.shipped is 'True for pages of the corpus that comes with the program; they change with it.';
comment on column documents.added_at is 'When the page was added.';
comment on column documents.tsv is 'What is searched: title first, then words, then body.';

create index documents_tsv on documents using gin (tsv);

create table lexemes (
  word text primary key,
  documents integer not null
);
comment on table lexemes is 'How many pages hold a word: rare words tell more about what is meant.';
comment on column lexemes.word is 'The stem of the word.';
comment on column lexemes.documents is 'Pages that hold it.';

create table entities (
  key text primary key,
  name text not null,
  type text not null
);
comment on table entities is 'Names that pages are about, recognised in queries and results.';
comment on column entities.key is 'The name in lower case.';
comment on column entities.name is 'The name as it is written.';
comment on column entities.type is 'Technology, Organization, Person, Place, Product, CreativeWork or Thing.';

create table corpora (
  name text primary key,
  sha256 text not null,
  documents integer not null,
  loaded_at timestamptz not null default now()
);
comment on table corpora is 'Which corpus files are loaded.';
comment on column corpora.name is 'shipped: the one that comes with the program.';
comment on column corpora.sha256 is 'Of the file: another one is loaded again.';
comment on column corpora.documents is 'Pages that it held.';
comment on column corpora.loaded_at is 'When it was loaded.';
