-- Reads the first day of a period that has answers; the start of the period counts if answers of earlier days are known
-- on it. Parameters: :since, :until (date).
select case
  when exists (select from analysis.known_on(:since::date)) then :since::date
  else coalesce(
    (
      select min(run_date)
      from analysis.days
      where answered > 0
        and run_date between :since::date and :until::date
    ),
    :since::date
  )
end as since;
