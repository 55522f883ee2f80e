// Invariants checked by verify.

import type { Database } from '../../base/database/database.ts'
import { otherQuery } from '../../base/answer.ts'
import { type RawBuilder, sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'

/** An invariant, and the number of rows that violate it. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly violations: number
}

/** Runs all checks in one snapshot: rows that change between two queries would look like violations. */
export async function onSnapshot<T>(db: Database, look: (snapshot: Database) => Promise<T>) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(look)
}

/** Runs all checks, ordered by group. */
export async function runChecks(
  db: Database,
  { zone, days }: { readonly zone: string; readonly days: DaySample },
): Promise<readonly Check[]> {
  const promises = {
    ...ledgerChecks,
    ...evidenceChecks(zone),
    ...contentChecks,
    ...finishedDayChecks(days),
  }
  const checks: Check[] = []
  for (const [name, question] of Object.entries(promises)) {
    const { rows } = await question.execute(db)
    checks.push(checkOf(name, rows[0]?.violations ?? 0))
  }
  return checks
}

/** An invariant with the number of violating rows. */
export function checkOf(name: string, violations: number): Check {
  return { name, ok: violations === 0, violations }
}

/** Use of an account's credits between the first and the newest reported balance. */
export interface Conservation {
  readonly account: string
  readonly kind: string
  /** Balance reported by the first answer. */
  readonly opening: number
  readonly used: number
  /** Lost while a call with an unreadable outcome was in flight. */
  readonly unknown: number
  /** Spent by others. */
  readonly unexplained: number
  /** Top-ups, renewals and refunds. */
  readonly added: number
  readonly closing: number
}

/** Opening - used - unknown - unexplained + added = closing, over every change of the balance. */
export async function conserveCredits(db: Database): Promise<readonly Conservation[]> {
  const { rows } = await sql<Conservation>`
    select
      account,
      origin as kind,
      sum(credits) filter (where kind = 'opening')::float8 as opening,
      coalesce(-sum(credits) filter (where kind = 'ours'), 0)::float8 as used,
      coalesce(-sum(credits) filter (where kind = 'perhaps_ours'), 0)::float8 as unknown,
      coalesce(-sum(credits) filter (where kind = 'others'), 0)::float8 as unexplained,
      coalesce(sum(credits) filter (where kind = 'top_up'), 0)::float8 as added,
      sum(credits)::float8 as closing
    from analysis.statement
    where origin <> 'test'
    group by account, origin
    order by account`.execute(db)
  return rows
}

// An id is the first 16 bytes of the hash of the row's content, joined by U+001F.
function wrongIds(table: string, kind: string, content: RawBuilder<unknown>) {
  return counting(sql`
    from ${sql.table(table)} t
    where uuid_send(t.id) <> substring(sha256(convert_to(${kind}::text || chr(31) || ${content}, 'UTF8')) for 16)`)
}

// Postgres and JavaScript escape the same characters in JSON strings in the same way.
const canonical = sql`
  '["1",' || to_json(q) || ','
  || coalesce(to_json(location)::text, 'null') || ','
  || coalesce(to_json(hl)::text, 'null') || ','
  || coalesce(to_json(gl)::text, 'null') || ','
  || num || ','
  || coalesce(to_json(device)::text, 'null') || ']'`

/** Ids derived from content match it; bodies exist unless they were pruned. */
const contentChecks: Checks = {
  // Ids are unique by primary key, and therefore keys are as well.
  'each query has the id of its key': wrongIds('queries', 'query', sql`t.key`),
  'each query has the key of what it asks': counting(sql`
    from queries where key <> encode(sha256(convert_to(${canonical}, 'UTF8')), 'hex')`),
  'each page has the id of its address': wrongIds('pages', 'page', sql`t.url`),
  'each domain has the id of its host': wrongIds('domains', 'domain', sql`t.host`),
  'each entity has the id of its name and type': wrongIds(
    'entities',
    'entity',
    sql`t.name || coalesce(chr(31) || t.type, '')`,
  ),
  'each topic has the id of its label': wrongIds('clusters', 'cluster', sql`t.label`),
  'each related query has the id of its text': wrongIds(
    'related_searches',
    'related_search',
    sql`t.q`,
  ),
  // All bodies received after the limit of each pruning must exist, including those of rejections.
  'each response has its body, unless bodies of its age were pruned or archived': counting(sql`
    from calls c
    left join searches s on s.call_id = c.id
    where (s.id is not null or c.http_status is not null)
      and c.outcome is not null
      and not exists (select from raw_answers r where r.call_id = c.id)
      -- Bodies of archived days are in the archive.
      and not exists (
        select
        from tasks t
        join runs r on r.id = t.run_id
        join archived_days a on a.run_date = r.run_date
        where t.id = c.task_id
      )
      and not exists (select from forgotten_tasks f where f.task_id = c.task_id)
      and not exists (select from forgotten_bodies f where f.call_id = c.id)
      and coalesce(s.fetched_at, c.sent_at) >= coalesce(
        (select max(p.received_before) from prunings p),
        '-infinity'
      )`),
  'no more bodies are gone than were pruned, archived or forgotten': counting(sql`
    from (
      select count(*) as bodies
      from searches s
      where not s.archived
        and not exists (select from raw_answers r where r.call_id = s.call_id)
        and not exists (select from forgotten_bodies f where f.call_id = s.call_id)
        and not exists (select from forgotten_tasks f where f.task_id = s.task_id)
    ) gone
    where gone.bodies > (select coalesce(sum(p.bodies), 0) from prunings p)`),
}

// An answered call has a status and no error code; a given-up call has no status.
const answered = sql`c.error_code is null and c.http_status is not null and c.outcome in ('settled', 'unknown')`
// An answer whose rows the database rejected reported its price as well.
const priced = sql`(c.error_code is null or c.error_code = 'UNSTORABLE') and c.http_status is not null and c.outcome = 'settled'`

/** Calls, answers and accounts are consistent, although they are written separately. */
function evidenceChecks(zone: string): Checks {
  return { ...aboutCalls, ...aboutAccounts, [dayName]: daySpent(zone), [monthName]: monthSpent }
}

const aboutCalls: Checks = {
  'each call that was answered has its answer, unless the tables refused it': counting(sql`
    from calls c
    where ${answered}
      and not exists (select from searches s where s.call_id = c.id)
      and not exists (select from forgotten_tasks f where f.task_id = c.task_id)`),
  'each answer tells the cost and the balance of its call': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    where c.outcome = 'settled'
      and (
        s.credits_used is distinct from case when not c.estimated then c.credits_used end
        -- The look of a key that turned out to be of another account told the balance of that one.
        or s.credits_remaining is distinct from c.credits_remaining and not (c.probe and c.credits_remaining is null)
      )`),
  'answers, calls and tasks name the same task and query': counting(sql`
    from calls c
    left join searches s on s.call_id = c.id
    left join tasks t on t.id = c.task_id
    where s.task_id <> c.task_id or t.query_id <> c.query_id`),
  'the calls of an account are numbered without gaps': counting(sql`
    from accounts a
    left join (
      select account_id, count(*) as calls, count(distinct start_seq) as places, max(start_seq) as last
      from calls
      group by account_id
    ) c on c.account_id = a.id
    where (a.seq, a.seq, a.seq) is distinct from (coalesce(c.calls, 0), coalesce(c.places, 0), coalesce(c.last, 0))`),
  'no task that is open, failed or unknown has an answer that may be used': counting(sql`
    from tasks t
    join searches s on s.task_id = t.id
    where t.state in ('open', 'failed', 'unknown')
      and (t.answers_after is null or s.fetched_at > t.answers_after)`),
  'no run spent more than its budget, apart from calls that cost more than was set aside':
    counting(sql`
    from runs r
    where r.spent > r.budget + (
      select coalesce(sum(greatest(0, c.credits_used - c.credits_reserved)), 0)
      from calls c
      join tasks t on t.id = c.task_id
      where t.run_id = r.id and c.outcome = 'settled'
    )`),
  // A reservation and a settlement within the same second may overlap.
  'no query was bought while a recent answer could be reused': counting(sql`
    from calls c
    join accounts a on a.id = c.account_id
    join tasks t on t.id = c.task_id
    join searches s on s.query_id = c.query_id and s.call_id <> c.id
    join calls first on first.id = s.call_id
    where c.max_age_ms > 0
      and c.outcome <> 'unsent'
      and s.origin = a.kind
      and (
        first.account_id = c.account_id
        or s.api = (select own.api from searches own where own.call_id = c.id)
      )
      -- The tables refused it when it came: nobody could take it.
      and first.error_code is null
      and first.finished_at < c.sent_at - interval '1 second'
      and s.fetched_at > c.sent_at - (c.max_age_ms - 1000) * interval '1 millisecond'
      and (t.answers_after is null or s.fetched_at > t.answers_after)`),
  'no query had two calls in flight where one answer serves both': counting(sql`
    from calls c
    join searches s on s.call_id = c.id
    join calls first on first.query_id = c.query_id and first.id < c.id
    join searches f on f.call_id = first.id
    where c.max_age_ms > 0
      and c.unknown_at is null
      and first.unknown_at is null
      and first.sent_at <= c.sent_at
      and first.finished_at > c.sent_at
      and (f.api, f.origin) = (s.api, s.origin)`),
  'each call with a response or an unknown outcome was sent': counting(sql`
    from calls c
    where c.outcome = 'unsent'
      and (
        c.unknown_at is not null
        or c.http_status is not null
        or exists (select from raw_answers r where r.call_id = c.id)
      )`),
  // An answer may arrive after its call was given up: then one call counts as two tries, even if it reported no price.
  'no task has more tries than calls': counting(sql`
    from tasks t
    left join (
      select
        task_id,
        count(*) + count(*) filter (
          where unknown_at is not null
            and (outcome = 'settled' or exists (select from searches s where s.call_id = calls.id))
        ) as tries,
        count(*) filter (where unknown_at is not null) as unread
      from calls
      where outcome in ('settled', 'unknown')
      group by task_id
    ) c on c.task_id = t.id
    where t.attempts > coalesce(c.tries, 0)
      or t.ambiguous > coalesce(c.unread, 0)
      or t.deaths > coalesce(c.unread, 0)`),
  // Hosts' clocks are accurate to five seconds; an answer may arrive after its call was given up.
  'each answer was received while its call was in flight': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    left join raw_answers r on r.call_id = s.call_id
    where s.fetched_at is distinct from coalesce(r.received_at, s.fetched_at)
      or s.fetched_at < c.sent_at - interval '5 seconds'
      or (c.unknown_at is null and s.fetched_at > c.finished_at + interval '5 seconds')`),
  'no more lines of a run gave a query than it has tasks': counting(sql`
    from runs r
    where r.accepted > (select count(*) from tasks t where t.run_id = r.id)
      + (select count(*) from forgotten_tasks f where f.run_id = r.id)`),
  'no request or response of a forgotten query is left': counting(sql`
    from forgotten_tasks f
    left join calls c on c.task_id = f.task_id
    where c.query_id <> uuid '00000000-0000-0000-0000-000000000000'
      or c.error_message is not null
      or exists (select from tasks t where t.id = f.task_id)
      or exists (select from raw_answers r where r.call_id = c.id)`),
  'no message holds a key': counting(sql`
    from (
      select error_message as said from calls
      union all select error_message from tasks
      union all select detail from stops
      union all select parse_error from searches
    ) messages
    where said ~ 'sk_(live|test)_[A-Za-z0-9_-]'`),
}

const aboutAccounts: Checks = {
  'the balance of an account is one that an answer reported': counting(sql`
    from accounts a
    left join calls c on c.account_id = a.id and c.start_seq = a.obs_seq
    where a.obs_seq is not null
      and a.obs_remaining is distinct from c.credits_remaining
      -- The API said that credit is used up: nothing is taken to be left.
      and not coalesce(a.obs_remaining = 0 and c.error_code is not null, false)`),
  'the spending since the newest balance is that of the calls that ended since': counting(sql`
    from accounts a
    join calls c on c.account_id = a.id and c.start_seq = a.obs_seq
    where c.outcome = 'settled'
      and c.error_code is null
      and c.credits_remaining = a.obs_remaining
      and a.spent_since <> a.used_total - c.start_total - c.credits_used`),
  // Calls that started after a moment also ended after it, so the balances they reported are included in each bound
  // stored since then.
  'no bound of a balance is higher than the reported balances': counting(sql`
    from accounts a
    cross join lateral (
      values
        (a.told_seq, a.told_least, a.told_untold),
        (a.next_told_seq, a.next_told_least, a.next_told_untold)
    ) bound (seq, least, untold)
    cross join lateral (
      select
        min(c.credits_remaining) as least,
        coalesce(sum(c.credits_used) filter (where c.credits_remaining is null), 0) as untold
      from calls c
      where c.account_id = a.id and c.start_seq > bound.seq and c.outcome = 'settled'
    ) told
    where told.least < coalesce(bound.least, told.least + 1) or told.untold > bound.untold`),
  'each account counts the answers that named another query': counting(sql`
    from accounts a
    where a.wrong_answers < (
      select count(*)
      from searches s
      join calls c on c.id = s.call_id
      where c.account_id = a.id and starts_with(s.parse_error, ${otherQuery})
    )`),
  'the prices of each price class are those in its answers': counting(sql`
    from account_costs p
    left join (
      select
        c.account_id, c.class, count(*) as answers, max(c.credits_used) as dearest, min(c.credits_used) as cheapest
      from calls c
      where ${priced}
      group by c.account_id, c.class
    ) told using (account_id, class)
    -- Prices may have been forgotten on request: what is believed since then is not the whole, and nothing else.
    where p.dearest > coalesce(told.dearest, 0)
      or p.cheapest < coalesce(told.cheapest, p.cheapest + 1)
      or p.seen >= told.answers and (p.dearest, p.cheapest) is distinct from (told.dearest, told.cheapest)
      or greatest(p.recent_first, p.earlier_first) > coalesce(p.dearest, 0)`),
  // The last thirty to sixty prices are stored without their order, so compare with the lowest possible maximum.
  'reservations are no lower than the last prices': counting(sql`
    from account_costs p
    where greatest(p.recent_first, p.earlier_first) < (
      select min(newest.credits_used)
      from (
        select c.credits_used
        from calls c
        where c.account_id = p.account_id and c.class = p.class and ${priced}
        order by c.id desc
        limit 10
      ) newest
    )
    and p.seen >= 30`),
  // Independent of others' spending: a call that was allowed although the newest balance had no room for it.
  'no call began that would have crossed the credit floor by the newest reported balance':
    counting(sql`
    from (
      select
        moment.*,
        max(told) over passed as newest,
        max(late_seq) over passed as late
      from (
        select
          c.account_id, c.sent_at as at, c.credits_reserved as bound, w.floor, c.probe,
          null::bigint[] as told,
          case when c.unknown_at is not null and c.credits_remaining is not null then c.start_seq end as late_seq
        from calls c
        join workers w on w.id = c.worker
        union all
        select
          c.account_id, c.finished_at, null, null, null, array[c.start_seq, c.credits_remaining], null
        from calls c
        where c.outcome = 'settled' and c.unknown_at is null and c.credits_remaining is not null
      ) moment
      window passed as (partition by account_id order by at rows between unbounded preceding and 1 preceding)
    ) begun
    join accounts a on a.id = begun.account_id
    where a.kind <> 'test'
      and not begun.probe
      and begun.newest[2] - begun.bound < begun.floor
      -- When exactly a late answer was read is not written down.
      and (begun.late is null or begun.late < begun.newest[1])`),
}

const monthName = 'the credits of the month are at least those of the calls that began in it'

const monthSpent = counting(sql`
  from accounts a
  where a.month_spent < (
    select
      coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
    from calls c
    where c.account_id = a.id and c.sent_at >= a.month_since
  )`)

const dayName = 'the credits of the day are at least those of the calls that began on it'

// Calls that started earlier and ended today count as well, so there may be more.
function daySpent(zone: string) {
  return counting(sql`
    from accounts a
    where a.day_spent < (
      select
        coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
      from calls c
      where c.account_id = a.id
        -- A call decided on just before midnight counts for the day before.
        and c.sent_at >= a.day::timestamp at time zone ${zone}::text + interval '5 seconds'
        and c.sent_at < (a.day + 1)::timestamp at time zone ${zone}::text
    )`)
}

/** Sums that are stored twice are equal, and referenced rows exist. */
const ledgerChecks: Checks = {
  'credits set aside are those of calls in flight': counting(sql`
    from accounts a
    left join lateral (
      select coalesce(sum(credits_reserved), 0) as bound, count(*) as calls
      from calls c where c.account_id = a.id and c.outcome is null
    ) held on true
    where a.reserved <> held.bound or a.in_flight <> held.calls`),
  'credits held are those of calls with an unknown outcome': counting(sql`
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
  'the spending of each run is that of its calls': counting(sql`
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
  'a task is paid once, and again only after an unknown outcome or on request': counting(sql`
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
  'each result names a known page and a known host': counting(sql`
    from organic_results o
    where (o.page_id is not null and not exists (select from pages p where p.id = o.page_id))
      or (o.domain_id is not null and not exists (select from domains d where d.id = o.domain_id))`),
  'each item of a SERP feature names a known page and a known host': counting(sql`
    from search_features f
    where (f.page_id is not null and not exists (select from pages p where p.id = f.page_id))
      or (f.domain_id is not null and not exists (select from domains d where d.id = f.domain_id))`),
  'each page names a known host': counting(sql`
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
  'each task names a known query': counting(sql`
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
  'each selected related search is in its list and in the run that buys it': counting(sql`
    from expansions e
    where not exists (select from list_queries m where m.list_id = e.list_id and m.query_id = e.query_id)
      or not exists (select from queries q where q.id = e.query_id)
      or (e.run_id is not null and not exists (
        select
        from tasks t
        join runs r on r.id = t.run_id
        where t.run_id = e.run_id and t.query_id = e.query_id and r.list_id = e.list_id
      ))`),
  'each selected related search was named for a query of the previous round': counting(sql`
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

/** Invariants by name: each statement counts violations, of which there should be none. */
type Checks = Readonly<Record<string, RawBuilder<{ violations: number }>>>

/** Builds a check from the part of the query after `select count(*)`. */
function counting(from: RawBuilder<unknown>): RawBuilder<{ violations: number }> {
  return sql<{ violations: number }>`select count(*) as violations ${from}`
}

/**
 * Days whose sums are used by the views and whose answers are in the database, with the earlier days they are compared
 * with.
 */
const kept = sql`
  finished_days.made_at is not null
  and finished_days.basis = (select analysis.basis())
  and case when (select exists (select from archived_days)) then (
    finished_days.run_date not in (select archived_days.run_date from archived_days)
    and not exists (
      select
      from finished_steps
      join archived_days on archived_days.run_date = finished_steps.previous_run_date
      where finished_steps.finish_id = finished_days.id
    )
    and not exists (
      select
      from runs
      join tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
      join searches on searches.id = tasks.search_id
      join tasks as own on own.id = searches.task_id
      join runs as bought on bought.id = own.run_id
      join archived_days on archived_days.run_date = bought.run_date
      where runs.run_date = finished_days.run_date
    )
  ) else true end`

/** Number of finished days to add up again, selected at random; null: all of them. */
type DaySample = number | null

/** Days to be checked. */
function drawn(sample: DaySample): RawBuilder<unknown> {
  return sql`
    drawn as materialized (
      select finished_days.id, finished_days.run_date
      from finished_days
      where ${kept}
      order by random()
      limit ${sample}
    )`
}

interface Sums {
  readonly table: string
  /** View that computes the same from answers, and function that does so for one day. */
  readonly live: string
  readonly on: string
  readonly keys: readonly string[]
}

/** Reads the answers of the selected days: a sample day by day, all days at once. */
function fromAnswers({ live, on }: Sums, sample: DaySample): RawBuilder<unknown> {
  if (sample === null) {
    return sql`analysis.${sql.ref(live)} as live where run_date in (select run_date from drawn)`
  }
  return sql`drawn cross join lateral analysis.${sql.ref(on)}(drawn.run_date) as live`
}

/** Rows of a table of sums that differ from the answers, including missing and extra ones. */
function violatedSums(
  of: Sums,
  { counts, sums }: { readonly counts: readonly string[]; readonly sums: readonly string[] },
  sample: DaySample,
): RawBuilder<{ violations: number }> {
  const columns = (table: string) =>
    sql.join(
      [...of.keys, ...counts, ...sums].map((name) => sql.ref(`${table}.${name}`)),
      sql`, `,
    )
  const keys = sql.join(
    of.keys.map((name) => sql.ref(name)),
    sql`, `,
  )
  const differ = counts.map(
    (name) => sql`there.${sql.ref(name)} is distinct from live.${sql.ref(name)}`,
  )
  // Sums computed in a different order may differ in the last digit.
  const apart = sums.map(
    (name) => sql`abs(coalesce(there.${sql.ref(name)}, 0) - coalesce(live.${sql.ref(name)}, 0))
      > 1e-9 * greatest(1, abs(live.${sql.ref(name)}))`,
  )
  return counting(sql`
    from (
      with ${drawn(sample)}
      select
      from (
        select drawn.run_date, ${columns('sums')}
        from drawn
        join ${sql.table(of.table)} as sums on sums.finish_id = drawn.id
      ) as there
      full join (
        select live.run_date, ${columns('live')}
        from ${fromAnswers(of, sample)}
      ) as live using (run_date, ${keys})
      where ${sql.join([...differ, ...apart], sql` or `)}
    ) as astray`)
}

/** Stored sums of finished days equal those computed from their answers, row by row. */
function finishedDayChecks(sample: DaySample): Checks {
  return {
    'each finished day counts the queries of its labels': violatedSums(
      { table: 'finished_labels', live: 'live_labels', on: 'labels_on', keys: ['set_id'] },
      { counts: ['labels', 'queries', 'planned'], sums: ['weight', 'planned_weight'] },
      sample,
    ),
    'each finished day holds the shares that its answers give': violatedSums(
      {
        table: 'finished_shares',
        live: 'live_shares',
        on: 'shares_on',
        keys: ['set_id', 'domain'],
      },
      { counts: ['ranked', 'top_3', 'top_10', 'top_20'], sums: ['positions', 'clicks'] },
      sample,
    ),
    'each answer of a finished day differs from the previous one as stored': violatedSums(
      { table: 'finished_steps', live: 'live_steps', on: 'compared_on', keys: ['query_id'] },
      {
        counts: [
          ...[
            'search_id',
            'fetched_at',
            'depth',
            'compared_depth',
            'entered',
            'left_top_10',
            'stayed',
          ],
          ...['previous_search_id', 'previous_run_date', 'previous_depth'],
        ],
        sums: ['volatility'],
      },
      sample,
    ),
    'each page that a finished day showed is known with its query': unknownPages(sample),
  }
}

function unknownPages(sample: DaySample): RawBuilder<{ violations: number }> {
  return counting(sql`
    from (
      with ${drawn(sample)}
      select
      from drawn
      cross join lateral (
        select observations.search_id, observations.query_id
        from analysis.observations
        where observations.run_date = drawn.run_date
        offset 0
      ) as shown
      join organic_results on organic_results.search_id = shown.search_id
      where organic_results.page_id is not null
        and not exists (
          select
          from seen_pages
          where seen_pages.page_id = organic_results.page_id
            and seen_pages.query_id = shown.query_id
        )
    ) as astray`)
}

/** Counts the finished days that can be added up again. */
export async function countFinishedDays(db: Database): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    select count(*) as days from finished_days where ${kept}`.execute(db)
  return only(rows).days
}
