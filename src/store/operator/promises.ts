import { sql } from '../kysely.ts'
import { counting, type Promises } from './question.ts'

/** What the tables owe each other: sums that are kept twice, and rows that name rows. */
export const bookPromises: Promises = {
  'credits set aside are those of calls in flight': counting(sql`
    from accounts a
    left join lateral (
      select coalesce(sum(credits_reserved), 0) as bound, count(*) as calls
      from calls c where c.account_id = a.id and c.outcome is null
    ) held on true
    where a.reserved <> held.bound or a.in_flight <> held.calls`),
  'credits held are those of calls nobody could read': counting(sql`
    from accounts a
    left join lateral (
      select coalesce(sum(credits_reserved), 0) as bound
      from calls c where c.account_id = a.id and c.outcome = 'unknown' and c.washed_at is null
    ) held on true
    where a.uncertain <> held.bound`),
  'credits used by an account are those of its settled calls': counting(sql`
    from accounts a
    left join lateral (
      select coalesce(sum(credits_used), 0) as used
      from calls c where c.account_id = a.id and c.outcome = 'settled'
    ) paid on true
    where a.used_total <> paid.used`),
  'the purse of each run is that of its calls': counting(sql`
    from runs r
    left join (
      select t.run_id,
        sum(c.credits_reserved) filter (where c.outcome is null) as reserved,
        sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end) as spent
      from calls c
      join (
        select id, run_id from tasks
        union all
        select task_id, run_id from forgotten_tasks
      ) t on t.id = c.task_id
      group by t.run_id
    ) sums on sums.run_id = r.id
    where r.reserved <> coalesce(sums.reserved, 0) or r.spent <> coalesce(sums.spent, 0)`),
  'a task is paid once, and again only after a call nobody could read or a person asked':
    counting(sql`
    from calls again
    join searches s on s.task_id = again.task_id and s.call_id <> again.id
    join calls first on first.id = s.call_id
    join tasks t on t.id = again.task_id
    where again.outcome = 'settled'
      and again.credits_used > 0
      and first.finished_at < again.sent_at
      and first.unknown_at is null
      and (t.answers_after is null or s.fetched_at > t.answers_after)`),
  'a task has at most one call in flight': counting(sql`
    from (select task_id from calls where outcome is null group by task_id having count(*) > 1) twice`),
  'each answered, reused or not asked task has its answer, no other has one': counting(sql`
    from tasks t
    left join searches s on s.id = t.search_id
    where (t.state in ('answered', 'reused', 'not_asked')) <> (t.search_id is not null)
      or (t.search_id is not null and (s.id is null or s.query_id <> t.query_id))`),
  'a query that was not asked cost nothing, and an answer of its day or before stands in':
    counting(sql`
    from tasks t
    join runs r on r.id = t.run_id
    where t.state = 'not_asked'
      and (
        exists (select from calls c where c.task_id = t.id)
        or exists (
          select
          from searches s
          join tasks own on own.id = s.task_id
          join runs bought on bought.id = own.run_id
          where s.id = t.search_id and bought.run_date > r.run_date
        )
      )`),
  'a task that has not ended has no end, one that has ended has one': counting(sql`
    from tasks where (state = 'open') <> (finished_at is null)`),
  'no open task belongs to a run that ended': counting(sql`
    from tasks t join runs r on r.id = t.run_id where t.state = 'open' and r.state in ('done', 'cancelled')`),
  'each open task lies in a slice that is not done': counting(sql`
    from tasks t
    left join slices s on s.run_id = t.run_id and s.slice = t.slice
    where t.state = 'open' and (s.run_id is null or s.done_at is not null)`),
  'only answers have result rows': counting(sql`
    from (
      select search_id from organic_results
      union all select search_id from search_entities
      union all select search_id from search_clusters
      union all select search_id from search_related_searches
      union all select search_id from search_features
    ) facts
    where not exists (select from searches s where s.id = facts.search_id and s.parse_error is null)`),
  'each answer has as many results as it counts': counting(sql`
    from searches s
    where s.parse_error is null
      and not s.archived
      and s.result_count <> (select count(*) from organic_results o where o.search_id = s.id)`),
  'each archived answer is of a day in the archive, and each such day has as many': counting(sql`
    from (
      select runs.run_date, count(*) as answers
      from searches s
      join tasks on tasks.id = s.task_id
      join runs on runs.id = tasks.run_id
      where s.archived
      group by runs.run_date
    ) held
    full join (
      select run_date, sum(answers) as answers from archived_days group by run_date
    ) told using (run_date)
    where coalesce(held.answers, 0) <> coalesce(told.answers, -1)`),
  'no archived answer has rows or a body here as well': counting(sql`
    from searches s
    where s.archived
      and (
        exists (select from organic_results f where f.search_id = s.id)
        or exists (select from search_entities f where f.search_id = s.id)
        or exists (select from search_clusters f where f.search_id = s.id)
        or exists (select from search_related_searches f where f.search_id = s.id)
        or exists (select from search_features f where f.search_id = s.id)
        or exists (select from raw_answers f where f.call_id = s.id)
      )`),
  'each answer comes from a call that was answered': counting(sql`
    from searches s
    left join calls c on c.id = s.call_id
    where c.id is null or c.query_id <> s.query_id or c.outcome is null or c.outcome = 'unsent'`),
  'each result names a page and a host that are known': counting(sql`
    from organic_results o
    where (o.page_id is not null and not exists (select from pages p where p.id = o.page_id))
      or (o.domain_id is not null and not exists (select from domains d where d.id = o.domain_id))`),
  'each thing in a block of an answer names a page and a host that are known': counting(sql`
    from search_features f
    where (f.page_id is not null and not exists (select from pages p where p.id = f.page_id))
      or (f.domain_id is not null and not exists (select from domains d where d.id = f.domain_id))`),
  'each page names a host that is known': counting(sql`
    from pages p
    where p.domain_id is not null and not exists (select from domains d where d.id = p.domain_id)`),
  'each entity, topic and related query of an answer is known': counting(sql`
    from (
      select from search_entities x where not exists (select from entities e where e.id = x.entity_id)
      union all
      select from search_clusters x where not exists (select from clusters c where c.id = x.cluster_id)
      union all
      select from search_related_searches x
      where not exists (select from related_searches r where r.id = x.related_search_id)
    ) orphans`),
  'each task asks a query that is known': counting(sql`
    from tasks t where not exists (select from queries q where q.id = t.query_id)`),
  'a run is suspect if it was judged so for a reason': counting(sql`
    from runs r
    left join night_health h on h.run_id = r.id
    where r.suspect <> (coalesce(cardinality(h.reasons), 0) > 0)`),
  'the lines of each run add up': counting(sql`
    from runs r
    where r.rows <> r.accepted + r.duplicates + r.rejected
      or r.rejected <> (select count(*) from rejected_lines l where l.run_id = r.id)`),
  'each answer says the origin that the account of its call buys from': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    join accounts a on a.id = c.account_id
    where a.kind <> s.origin`),
  'each related search that was taken is in its list, and in the run that buys it': counting(sql`
    from expansions e
    where not exists (select from list_queries m where m.list_id = e.list_id and m.query_id = e.query_id)
      or not exists (select from queries q where q.id = e.query_id)
      or (e.run_id is not null and not exists (
        select
        from tasks t
        join runs r on r.id = t.run_id
        where t.run_id = e.run_id and t.query_id = e.query_id and r.list_id = e.list_id
      ))`),
  'each related search that was taken was named for a query of the round before': counting(sql`
    from expansions e
    where case
      -- It was forgotten.
      when e.from_query = uuid '00000000-0000-0000-0000-000000000000' then false
      when e.round = 1 then not exists (select from list_queries m where m.list_id = e.source_list_id and m.query_id = e.from_query)
      else not exists (
        select
        from expansions s
        where s.list_id = e.list_id and s.query_id = e.from_query and s.round = e.round - 1
      )
    end`),
}
