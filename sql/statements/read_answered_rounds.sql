-- Reads the answered rounds of all expanded lists, counting only answers from origins that the
-- views show. No parameters.
select list, round, answers, credits_used, pages, new_pages, domains, new_domains
from analysis.expansion_rounds
where answers > 0
order by list, round;
