import { sql, type RawBuilder } from '../kysely.ts'
import type { Database } from '../database.ts'

/** One promise, as a question that finds every row that breaks it. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly violations: number
}

/** Each statement lists what breaks the promise; a mill that keeps it finds nothing. */
const promises: Readonly<Record<string, RawBuilder<{ violations: number }>>> = {
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
      join tasks t on t.id = c.task_id
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
  'each answered or reused task has its answer, no other has one': counting(sql`
    from tasks t
    left join searches s on s.id = t.search_id
    where (t.state in ('answered', 'reused')) <> (t.search_id is not null)
      or (t.search_id is not null and (s.id is null or s.query_id <> t.query_id))`),
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
    ) facts
    where not exists (select from searches s where s.id = facts.search_id and s.parse_error is null)`),
  'each answer has as many results as it counts': counting(sql`
    from searches s
    where s.parse_error is null
      and s.result_count <> (select count(*) from organic_results o where o.search_id = s.id)`),
  'each answer comes from a call that was answered': counting(sql`
    from searches s
    left join calls c on c.id = s.call_id
    where c.id is null or c.query_id <> s.query_id or c.outcome is null or c.outcome = 'unsent'`),
  // A body may be pruned by age; one that is younger than everything pruned must be there.
  'each answer has its body, unless bodies of its age were pruned': counting(sql`
    from searches s
    where not exists (select from raw_answers r where r.call_id = s.call_id)
      and s.fetched_at > (select min(r.received_at) from raw_answers r)`),
  'each result names a page and a host that are known': counting(sql`
    from organic_results o
    where (o.page_id is not null and not exists (select from pages p where p.id = o.page_id))
      or (o.domain_id is not null and not exists (select from domains d where d.id = o.domain_id))`),
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
  // The primary key keeps ids apart, and so it keeps keys apart.
  'each query has the id of its key': counting(sql`
    from queries q
    where uuid_send(q.id) <> substring(sha256(convert_to('query' || chr(31) || q.key, 'UTF8')) for 16)`),
  'the lines of each run add up': counting(sql`
    from runs r
    where r.rows <> r.accepted + r.duplicates + r.rejected
      or r.rejected <> (select count(*) from rejected_lines l where l.run_id = r.id)`),
  'each answer says the origin that the account of its call buys from': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    join accounts a on a.id = c.account_id
    where a.kind <> s.origin`),
}

function counting(from: RawBuilder<unknown>): RawBuilder<{ violations: number }> {
  return sql<{ violations: number }>`select count(*) as violations ${from}`
}

/** Asks every question over one snapshot: rows that change between two questions would look like a broken promise. */
export async function verifyPromises(db: Database): Promise<readonly Check[]> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const checks: Check[] = []
      for (const [name, question] of Object.entries(promises)) {
        const { rows } = await question.execute(trx)
        const violations = rows[0]?.violations ?? 0
        checks.push({ name, ok: violations === 0, violations })
      }
      return checks
    })
}

/** Where the credits of an account went, between the first and the newest balance that was seen. */
export interface Conservation {
  readonly account: string
  readonly kind: string
  readonly drop: number
  readonly used: number
  readonly unknown: number
  /** Spent by nobody we know of, or renewed when negative. */
  readonly unexplained: number
}

/** Drop in balance = credits used + perhaps used by calls nobody could read + unexplained. */
export async function conserveCredits(db: Database): Promise<readonly Conservation[]> {
  const { rows } = await sql<Conservation>`
    with seen as (
      select distinct on (account_id)
        account_id, start_seq as first_seq, credits_remaining + credits_used as before
      from calls
      where credits_remaining is not null and credits_used is not null and outcome = 'settled'
      order by account_id, start_seq
    )
    select
      a.name as account, a.kind,
      moved.drop::float8 as drop,
      sums.used::float8 as used,
      least(sums.unknown, greatest(0, moved.drop - sums.used))::float8 as unknown,
      -- Calls that ended while the newest balance was asked for may be in it or not.
      (case
        when moved.drop > sums.used then greatest(0, moved.drop - sums.used - sums.unknown)
        when moved.drop < sums.used - a.spent_since then moved.drop - (sums.used - a.spent_since)
        else 0
      end)::float8 as unexplained
    from accounts a
    join seen s on s.account_id = a.id
    cross join lateral (
      select
        coalesce(sum(c.credits_used) filter (where c.outcome = 'settled'), 0) as used,
        coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown'), 0) as unknown
      from calls c
      where c.account_id = a.id and c.start_seq >= s.first_seq
    ) sums
    cross join lateral (select s.before - a.obs_remaining as drop) moved
    where a.kind <> 'test'
    order by a.name`.execute(db)
  return rows
}
