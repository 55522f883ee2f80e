create table search_features (
  search_id bigint not null,
  ordinal integer not null,
  kind text not null,
  page_id uuid,
  domain_id uuid,
  text text,
  extra jsonb,
  primary key (search_id, ordinal)
);
comment on table search_features is 'What answers carry besides results, entities, topics and related queries: each thing in a block that the interface does not name, as ads or questions. The blocks themselves stand whole in searches.extra.';
comment on column search_features.search_id is 'The answer.';
comment on column search_features.ordinal is 'Place among all such things of the answer, from 1.';
comment on column search_features.kind is 'Name of the block, as the answer spells it.';
comment on column search_features.page_id is 'The page that it leads to; null: it names none.';
comment on column search_features.domain_id is 'The host that it names, or that of its page; null: neither.';
comment on column search_features.text is 'What it says first: its title, question, text or name; null: nothing of these.';
comment on column search_features.extra is 'What else it says, under its own names; null: nothing.';

-- Servers before 18 do not know the words, and would refuse the file.
do $$
begin
  if current_setting('server_version_num')::integer >= 180000 then
    execute 'alter table search_features add foreign key (search_id) references searches not enforced';
    execute 'alter table search_features add foreign key (page_id) references pages not enforced';
    execute 'alter table search_features add foreign key (domain_id) references domains not enforced';
  end if;
end
$$;
