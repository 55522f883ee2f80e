-- How words are spelled, beside their stems: a slip of the fingers changes the stem beyond recognition.

create table spellings (
  word text primary key,
  documents integer not null
);
comment on table spellings is 'Words of titles and addresses as they are written: what a mistyped word can have meant.';
comment on column spellings.word is 'The word in lower case.';
comment on column spellings.documents is 'Pages whose title or address holds it.';

insert into spellings (word, documents)
select word, ndoc
from ts_stat($$select to_tsvector('simple'::regconfig, words) from service.documents$$);
