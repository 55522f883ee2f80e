-- Brands: several domains, hosts below them and folders of hosts that count as one, of ours and of rivals.

alter table own_domains
  drop constraint own_domains_domain_check,
  add constraint own_domains_domain_check check (
    -- A path is spelled as its pages spell it; a host is in lower case.
    split_part(domain, '/', 1) = lower(split_part(domain, '/', 1))
    and split_part(domain, '/', 1) not in ('', '*.')
    and domain not like 'www._%'
    and domain not like '%/'
  ),
  add column brand text check (brand <> '');
comment on column own_domains.domain is 'Domain: a host in lower case without a leading www.; *. in front stands for every host below it and itself, a path behind it for the pages in that folder.';
comment on column own_domains.brand is 'Brand that it belongs to; null: what we call it.';

create table rival_domains (
  domain text collate "C" not null check (
    split_part(domain, '/', 1) = lower(split_part(domain, '/', 1))
    and split_part(domain, '/', 1) not in ('', '*.')
    and domain not like 'www._%'
    and domain not like '%/'
  ),
  label text not null,
  since date,
  until date,
  added_at timestamptz not null default now(),
  brand text check (brand <> ''),
  unique nulls not distinct (domain, since),
  check (since <= until)
);
comment on table rival_domains is 'Domains of rivals, as the command domains was told, to be looked at brand by brand.';
comment on column rival_domains.domain is 'Domain, spelled as in own_domains.';
comment on column rival_domains.label is 'What we call it.';
comment on column rival_domains.since is 'First day on which it is the rival''s under this label; null: from the beginning.';
comment on column rival_domains.until is 'Last day on which it is the rival''s under this label; null: to this day.';
comment on column rival_domains.added_at is 'When the line was first told.';
comment on column rival_domains.brand is 'Brand that it belongs to; null: what we call it.';

alter table own_domain_changes
  add column brand text,
  add column rival boolean not null default false;
comment on table own_domain_changes is 'Lines that a command took from the tables of our domains and of those of rivals, or put into them, in order. A changed line is removed as it was and added as it is.';
comment on column own_domain_changes.brand is 'Its brand, where the line names one.';
comment on column own_domain_changes.rival is 'True for a domain of a rival.';
