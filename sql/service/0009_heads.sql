-- A title without the name of its site: "Web APIs | MDN" made every page of MDN one about the web.

alter table documents drop column tsv;
alter table documents add column head text not null generated always as (
  regexp_replace(title, '( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$', '')
) stored;
alter table documents add column tsv tsvector not null generated always as (
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
    end, regexp_replace(title, '( - [^|]+ \| MDN| \| [^|]+| - Web features explorer)$', '')), 'A')
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
    end, title || ' ' || body), 'D')
) stored;
comment on column documents.head is 'The title without the name of its site.';
comment on column documents.tsv is 'What is searched: title without its site first, then words, then title and body.';
create index documents_head on documents (left(lower(head), 100));
create index documents_tsv on documents using gin (tsv);
-- The words of shipped pages held the names of sites, too: they are loaded again.
delete from corpora
where name = 'shipped';
