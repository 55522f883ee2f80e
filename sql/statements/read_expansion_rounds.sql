-- Reads the rounds of an expanded list, counting only answers from origins that the views show.
-- Parameter: :list (name of the list).
select
  round, queries, open, answers, failed, unaffordable, credits_used, new_pages, new_domains,
  new_pages_per_answer, new_domains_per_answer, new_pages_per_credit, new_domains_per_credit
from analysis.expansion_rounds
where list = :list
order by round;
