-- Which fields do answers carry that nobody announced, and since when?
-- unsliced: it is about the API, not about queries
select place, field, api, first_seen, last_seen, answers
from analysis.drift
where analysis.in_span(last_seen::date)
order by first_seen desc, place, field;
