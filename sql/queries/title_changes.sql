-- Which pages changed their titles?
-- :domain = (a domain; empty: ours)
select
  run_date, q, url_key as page, position, previous_title, title,
  analysis.variant_of(title_changes.query_id) as variant
from analysis.title_changes
where analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and title_changes.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = title_changes.domain
        and (own_domains.since is null or own_domains.since <= title_changes.run_date)
        and (own_domains.until is null or own_domains.until >= title_changes.run_date)
    )
    else domain = :domain
  end
order by run_date desc, q, position, page, variant;
