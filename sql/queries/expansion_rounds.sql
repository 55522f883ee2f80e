-- What did each round of an expansion cost, and what did it bring that nobody knew?
-- unsliced: a round is looked at as a whole
-- :list = (name of the list, the expanded one or that which took; empty: all)
select
  list, round, queries, answers, credits_used, new_pages, new_domains,
  round(new_pages_per_answer::numeric, 2) as new_pages_per_answer,
  round(new_domains_per_answer::numeric, 2) as new_domains_per_answer,
  round(new_domains_per_credit::numeric, 2) as new_domains_per_credit
from analysis.expansion_rounds
where (:list::text is null or list = :list or source_list = :list)
order by list, round;
