-- Reads the domain with the largest increase in share for a label between two days. Parameters: :before, :date, :tag.
select now.domain
from analysis.share_of_voice as now
left join analysis.share_of_voice as old
  on old.run_date = :before::date
  and old.tag = :tag
  and old.domain = now.domain
where now.run_date = :date::date
  and now.tag = :tag
  and now.share_of_voice > coalesce(old.share_of_voice, 0)
order by now.share_of_voice - coalesce(old.share_of_voice, 0) desc, now.domain
limit 1;
