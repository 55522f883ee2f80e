-- Which domains make up each brand, ours and those of rivals, and when.
create or replace view analysis.brands as
select coalesce(brand, label) as brand, domain, label, true as ours, since, until
from public.own_domains
union all
select coalesce(brand, label), domain, label, false, since, until
from public.rival_domains;
comment on view analysis.brands is 'Which domains make up each brand, ours and those of rivals, as the command domains was told. A domain without a brand makes one with all that are called the same.';
comment on column analysis.brands.brand is 'Name of the brand.';
comment on column analysis.brands.domain is 'Host in lower case without a leading www.; *. in front stands for every host below it and itself, a path behind it for the pages in that folder.';
comment on column analysis.brands.label is 'What we call the domain.';
comment on column analysis.brands.ours is 'True for a brand of ours.';
comment on column analysis.brands.since is 'First day on which the domain belongs to it; null: from the beginning.';
comment on column analysis.brands.until is 'Last day on which it does; null: to this day.';
