-- Reads our own domains on a day. Parameter: :date.
select distinct domain
from analysis.ours_on(:date::date)
order by domain;
