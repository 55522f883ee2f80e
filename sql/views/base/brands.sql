-- Domains of our brands and rival brands, each with the period in which it belongs to the brand.
create or replace view analysis.brands as
select coalesce(brand, label) as brand, domain, label, true as ours, since, until
from public.own_domains
union all
select coalesce(brand, label), domain, label, false, since, until
from public.rival_domains;
comment on view analysis.brands is 'Domains of our brands and rival brands, as set by npm run domains. Domains without a brand form one brand if they have the same label.';
comment on column analysis.brands.brand is 'Name of the brand.';
comment on column analysis.brands.domain is 'Host in lower case without a leading www. A leading *. covers the host itself and all of its subdomains. If the entry has a path, it covers only the pages in that folder.';
comment on column analysis.brands.label is 'Label of the domain, as set by npm run domains.';
comment on column analysis.brands.ours is 'True for our own brands, false for rival brands.';
comment on column analysis.brands.since is 'First day on which the domain belongs to the brand; null if no first day is set.';
comment on column analysis.brands.until is 'Last day on which the domain belongs to the brand; null if no last day is set.';
