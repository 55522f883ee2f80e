-- Cost of each round of an expansion, and the number of new pages and domains in its answers.
create or replace view analysis.expansion_rounds as
with taken as (
  select
    expansions.list_id, expansions.source_list_id, expansions.round, expansions.query_id, expansions.decided_at,
    tasks.id as task_id, tasks.state, searches.id as search_id
  from expansions
  left join tasks on tasks.run_id = expansions.run_id and tasks.query_id = expansions.query_id
  -- An answer that was already bought for another list does not count toward the round.
  left join searches
    on searches.id = tasks.search_id
    and searches.task_id = tasks.id
    and searches.parse_error is null
  where expansions.origin = any ((select analysis.origins())::text[])
),
shown as materialized (
  select taken.list_id, taken.round, results.search_id, results.page_id, results.domain
  from taken
  join public.result_domains as results on results.search_id = taken.search_id
),
-- Answer ids follow the order of the requests, so the lowest id belongs to the first answer that shows a page.
first_pages as (
  select results.page_id, min(results.search_id) as search_id
  from organic_results as results
  join searches on searches.id = results.search_id
  where searches.origin = any ((select analysis.origins())::text[])
    and results.page_id in (select page_id from shown)
  group by results.page_id
),
first_domains as (
  select results.domain, min(results.search_id) as search_id
  from public.result_domains as results
  join searches on searches.id = results.search_id
  where searches.origin = any ((select analysis.origins())::text[])
    and results.domain in (select domain from shown)
  group by results.domain
),
brought as (
  select
    shown.list_id, shown.round,
    count(distinct shown.page_id) as pages,
    count(distinct shown.page_id) filter (where first_pages.search_id = shown.search_id) as new_pages,
    count(distinct shown.domain) as domains,
    count(distinct shown.domain) filter (where first_domains.search_id = shown.search_id) as new_domains
  from shown
  left join first_pages on first_pages.page_id = shown.page_id
  left join first_domains on first_domains.domain = shown.domain
  group by shown.list_id, shown.round
),
paid as (
  select taken.list_id, taken.round, sum(calls.credits_used)::bigint as credits_used
  from taken
  join calls on calls.task_id = taken.task_id
  group by taken.list_id, taken.round
)
select
  lists.name as list,
  sources.name as source_list,
  counted.round,
  counted.queries,
  counted.open,
  counted.answers,
  counted.failed,
  counted.unaffordable,
  coalesce(paid.credits_used, 0) as credits_used,
  coalesce(brought.pages, 0) as pages,
  coalesce(brought.new_pages, 0) as new_pages,
  coalesce(brought.domains, 0) as domains,
  coalesce(brought.new_domains, 0) as new_domains,
  coalesce(brought.new_pages, 0) / nullif(counted.answers, 0)::double precision as new_pages_per_answer,
  coalesce(brought.new_domains, 0) / nullif(counted.answers, 0)::double precision as new_domains_per_answer,
  coalesce(brought.new_pages, 0) / nullif(paid.credits_used, 0)::double precision as new_pages_per_credit,
  coalesce(brought.new_domains, 0) / nullif(paid.credits_used, 0)::double precision as new_domains_per_credit,
  counted.decided_at
from (
  select
    list_id, source_list_id, round,
    count(*) as queries,
    count(*) filter (where coalesce(state, 'open') = 'open') as open,
    count(search_id) as answers,
    count(*) filter (where state in ('failed', 'unknown')) as failed,
    count(*) filter (where state in ('unaffordable', 'cancelled')) as unaffordable,
    min(decided_at) as decided_at
  from taken
  group by list_id, source_list_id, round
) as counted
join lists on lists.id = counted.list_id
join lists as sources on sources.id = counted.source_list_id
left join brought on brought.list_id = counted.list_id and brought.round = counted.round
left join paid on paid.list_id = counted.list_id and paid.round = counted.round;
comment on view analysis.expansion_rounds is 'Cost of each round of npm run expand, with the number of pages and domains that no earlier answer had shown. If these numbers are low, further rounds will find few new pages and domains.';
comment on column analysis.expansion_rounds.list is 'Name of the list to which the related searches were added.';
comment on column analysis.expansion_rounds.source_list is 'Name of the list that was expanded.';
comment on column analysis.expansion_rounds.round is 'Number of the round. Related searches come from the answers to the expanded list in round 1, and from the answers of the previous round in later rounds.';
comment on column analysis.expansion_rounds.queries is 'Number of related searches chosen in the round.';
comment on column analysis.expansion_rounds.open is 'Number of queries in the round that are not finished yet.';
comment on column analysis.expansion_rounds.answers is 'Number of readable answers bought for the round.';
comment on column analysis.expansion_rounds.failed is 'Number of queries that failed or have an unknown outcome.';
comment on column analysis.expansion_rounds.unaffordable is 'Number of queries not asked because of a budget, the credit floor or the cancellation of the run.';
comment on column analysis.expansion_rounds.credits_used is 'Credits used for the round''s answers, as reported.';
comment on column analysis.expansion_rounds.pages is 'Number of pages in the round''s answers.';
comment on column analysis.expansion_rounds.new_pages is 'Number of pages that were in no answer before the round.';
comment on column analysis.expansion_rounds.domains is 'Number of domains in the round''s answers.';
comment on column analysis.expansion_rounds.new_domains is 'Number of domains that were in no answer before the round.';
comment on column analysis.expansion_rounds.new_pages_per_answer is 'Number of new pages per answer.';
comment on column analysis.expansion_rounds.new_domains_per_answer is 'Number of new domains per answer.';
comment on column analysis.expansion_rounds.new_pages_per_credit is 'Number of new pages per credit.';
comment on column analysis.expansion_rounds.new_domains_per_credit is 'Number of new domains per credit.';
comment on column analysis.expansion_rounds.decided_at is 'Time at which the first related search of the round was chosen.';
