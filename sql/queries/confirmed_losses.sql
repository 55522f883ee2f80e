-- Which places in the top ten were lost for good, two answers running?
-- :domain = (a domain; empty: ours)
-- :rows = 50 (how many, newest first)
select
  run_date, q, domain, base_position, position, url_key as page, base_run_date,
  analysis.variant_of(confirmed_losses.query_id) as variant
from analysis.confirmed_losses
where analysis.in_span(run_date)
  -- As a list that is known before: so it goes down to the rows of these domains.
  and confirmed_losses.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(confirmed_losses.run_date) as ours
      where ours.domain = confirmed_losses.domain
    )
    else domain = :domain
  end
order by run_date desc, base_position, q, domain, variant
limit :rows::integer;
