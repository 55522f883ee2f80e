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
      from analysis.ours_on(title_changes.run_date) as ours
      where ours.domain = title_changes.domain
    )
    else domain = :domain
  end
order by run_date desc, q, position, page, variant;
