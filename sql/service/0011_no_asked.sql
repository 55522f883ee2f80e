-- Related searches come from the documents and the answer: what customers ask is shown to nobody else.

drop table asked;
comment on column usage.q is 'The query.';
