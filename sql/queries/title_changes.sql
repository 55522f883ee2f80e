-- Which pages changed their titles?
-- :domain = (a domain; empty: ours)
select run_date, q, url_key as page, position, previous_title, title
from analysis.title_changes
where case
  when :domain::text is null then exists (
    select
    from own_domains
    where title_changes.url_key ~ ('^(www\.)?' || replace(own_domains.domain, '.', '\.') || '(/|$)')
  )
  else url_key ~ ('^(www\.)?' || replace(:domain, '.', '\.') || '(/|$)')
end
order by run_date desc, q, position;
