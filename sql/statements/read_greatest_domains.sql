-- Reads the domains with the largest shares of voice on a day. Parameters: :day (date, or null), :most (integer).
select domain
from analysis.share_of_voice
where tag = '*'
  and run_date = :day::date
  and share_of_voice is not null
order by share_of_voice desc, domain
limit :most::integer;
