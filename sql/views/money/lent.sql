-- Queries that were lent the answer of another one, night by night: whose answer stood for them, and how old it was.
create or replace view analysis.lent as
select
  lendings.run_date,
  lists.name as list,
  lendings.query_id,
  queries.q,
  lendings.lent_by,
  lenders.q as lent_by_q,
  answer.search_id,
  answer.run_date as answered_on,
  lendings.run_date - answer.run_date as age_days,
  asked.own_search_id,
  asked.own_answered_on
from lendings
join lists on lists.id = lendings.list_id
-- A night that asked the query all the same lent nothing.
join lateral (
  select tasks.search_id as own_search_id, bought.run_date as own_answered_on
  from runs
  join tasks on tasks.run_id = runs.id and tasks.query_id = lendings.query_id and tasks.state = 'not_asked'
  left join searches on searches.id = tasks.search_id
  left join tasks as own on own.id = searches.task_id
  left join runs as bought on bought.id = own.run_id
  where runs.list_id = lendings.list_id
    and runs.run_date = lendings.run_date
    and runs.kind = 'nightly'
  order by runs.id desc
  limit 1
) as asked on true
left join queries on queries.id = lendings.query_id
left join queries as lenders on lenders.id = lendings.lent_by
left join lateral (
  select searches.id as search_id, runs.run_date
  from searches
  join tasks on tasks.id = searches.task_id
  join runs on runs.id = tasks.run_id
  where searches.query_id = lendings.lent_by
    and searches.parse_error is null
    and searches.origin = any ((select analysis.origins())::text[])
    and not runs.suspect
    and runs.run_date <= lendings.run_date
  order by searches.fetched_at desc, searches.id desc
  limit 1
) as answer on true;
comment on view analysis.lent is 'Queries that a night did not ask since another query has long been answered the same (cadence adaptive lend): whose answer stood for them on each day, and how old it was. Only here: in every other view the last answer of the query itself stands in, as for any query that was not asked.';
comment on column analysis.lent.list is 'Name of the list.';
comment on column analysis.lent.query_id is 'The query that was not asked.';
comment on column analysis.lent.q is 'Its text.';
comment on column analysis.lent.lent_by is 'The query that lent its answer.';
comment on column analysis.lent.lent_by_q is 'Its text.';
comment on column analysis.lent.search_id is 'The answer that was lent: the newest one of the lender up to that night; null: there is none that is shown.';
comment on column analysis.lent.answered_on is 'The night that it was bought for.';
comment on column analysis.lent.age_days is 'Days from then to this night: more than 0 where the lender rested or failed.';
comment on column analysis.lent.own_search_id is 'The last answer of the query itself, which stands in for it everywhere else.';
comment on column analysis.lent.own_answered_on is 'The night that this one was bought for.';
