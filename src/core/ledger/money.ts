import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { floorInForce, shownBalance } from './standstill.ts'

/** Days in a zone, both included. */
export interface ZonedSpan {
  readonly since: string
  readonly until: string
  readonly zone: string
}

/** An account as far as its money goes. */
export interface AccountPurse {
  readonly id: number
  readonly account: string
  readonly origin: string
  readonly remaining: number | null
  readonly observed_at: Date | null
  /** In force, or that of its last worker; null: it never had one. */
  readonly floor: number | null
  readonly used: number
}

/** The lowest balance of a stretch of calls. */
export interface PursePoint {
  readonly account_id: number
  readonly at: Date
  readonly remaining: number
}

/** What was spent for a list, or for calls of a class. */
export interface SpentRow {
  readonly by: 'list' | 'class'
  readonly name: string
  readonly calls: number
  readonly credits: number
  readonly answers: number
  readonly lost: number
  /** Credits set aside for calls that told no cost: what they may have used. */
  readonly perhaps: number
  readonly dearest: number | null
}

/** All accounts, with what each used in a span. */
export async function readPurses(db: Database, span: ZonedSpan): Promise<readonly AccountPurse[]> {
  const { rows } = await sql<AccountPurse>`
    select
      a.id, a.name as account, a.kind as origin, ${shownBalance} as remaining, a.obs_at as observed_at,
      coalesce(
        ${floorInForce},
        (select w.floor from workers w where w.account_id = a.id order by w.id desc limit 1)
      ) as floor,
      (
        select coalesce(sum(c.credits_used), 0)
        from calls c
        where c.account_id = a.id and ${within(span)}
      ) as used
    from accounts a
    order by a.obs_at desc nulls last, a.id`.execute(db)
  return rows
}

/** At most 200 points for each account. */
export async function readPursePoints(
  db: Database,
  span: ZonedSpan,
): Promise<readonly PursePoint[]> {
  const { rows } = await sql<PursePoint>`
    select account_id, max(finished_at) as at, min(credits_remaining) as remaining
    from (
      select
        c.account_id, c.finished_at, c.credits_remaining,
        ntile(200) over (partition by c.account_id order by c.finished_at) as stretch
      from calls c
      where c.credits_remaining is not null and ${within(span)}
    ) told
    group by account_id, stretch
    order by account_id, at`.execute(db)
  return rows
}

/** What the calls of a span used, by the list that they were for and by their class, the dearest first. */
export async function readCosts(db: Database, span: ZonedSpan): Promise<readonly SpentRow[]> {
  // Both in one pass: a year of calls is read once.
  const { rows } = await sql<SpentRow>`
    select
      case when grouping(l.name) = 0 then 'list' else 'class' end as by,
      coalesce(l.name, c.class) as name,
      count(*) as calls,
      coalesce(sum(c.credits_used), 0) as credits,
      count(*) filter (where s.id is not null and s.parse_error is null) as answers,
      coalesce(sum(c.credits_used) filter (where s.id is null or s.parse_error is not null), 0) as lost,
      coalesce(sum(c.credits_reserved) filter (where c.credits_used is null), 0) as perhaps,
      max(c.credits_used) as dearest
    from calls c
    join tasks t on t.id = c.task_id
    join runs r on r.id = t.run_id
    join lists l on l.id = r.list_id
    left join searches s on s.call_id = c.id
    where c.outcome in ('settled', 'unknown') and ${within(span)}
    group by grouping sets ((l.name), (c.class))
    order by credits desc, name
    limit 100`.execute(db)
  return rows
}

function within({ since, until, zone }: ZonedSpan) {
  return sql`c.finished_at >= ${since}::date::timestamp at time zone ${zone}::text
    and c.finished_at < (${until}::date + 1)::timestamp at time zone ${zone}::text`
}
