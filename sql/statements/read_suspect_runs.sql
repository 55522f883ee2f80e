-- Reads the newest suspect runs in a period. Parameters: :since, :until (date).
select run_date as "runDate", list, reasons
from analysis.night_health
where suspect
  and run_date between :since::date and :until::date
order by run_date desc, run_id desc
limit 30;
