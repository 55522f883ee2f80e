-- For which queries do several pages of one domain stand in the same answer?
-- :domain = (a domain; empty: ours)
-- :day = (day of the run; empty: the newest)
select q, domain, pages, positions, url_keys
from analysis.cannibalised_serps
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = cannibalised_serps.domain
        and (own_domains.since is null or own_domains.since <= cannibalised_serps.run_date)
        and (own_domains.until is null or own_domains.until >= cannibalised_serps.run_date)
    )
    else domain = :domain
  end
order by pages desc, q;
