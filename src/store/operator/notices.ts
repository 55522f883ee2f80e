import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What a notice is about: the key under which it is noted once. */
export interface Subject {
  readonly kind: string
  readonly subject: string
}

/** A notice, with everything else that it tells: many missed nights are one line. */
export interface Noted extends Subject {
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  /** Further news that goes out with it. */
  readonly others: readonly Subject[]
}

/** A notice that this process may send for a while. */
export interface Claimed {
  readonly id: string
  readonly kind: string
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly at: string
  /** This try counted. */
  readonly tries: number
}

/** Completes what was noted in the same transaction: from here on any process can send it. */
export async function describeNotices(db: Database, notices: readonly Noted[]): Promise<void> {
  for (const { kind, subject, text, fields, others } of notices) {
    await sql`
      with told as (
        update notices
        set said = ${text}, fields = ${JSON.stringify(fields)}::jsonb
        where kind = ${kind} and subject = ${subject}
        returning id
      )
      update notices
      set part_of = told.id
      from told, unnest(
        ${others.map((other) => other.kind)}::text[],
        ${others.map((other) => other.subject)}::text[]
      ) as other (kind, subject)
      where notices.kind = other.kind and notices.subject = other.subject`.execute(db)
  }
}

/** Takes the oldest notice that is due, for so long; of several processes that ask, each gets another one. */
export async function claimNotice(
  db: Database,
  { kinds, forMs }: { readonly kinds: readonly string[]; readonly forMs: number },
): Promise<Claimed | null> {
  const { rows } = await sql<Claimed>`
    update notices
    set tries = tries + 1, due_at = clock_timestamp() + ${forMs} * interval '1 millisecond'
    where id = (
      select id
      from notices
      where told_at is null
        and given_up_at is null
        and part_of is null
        and due_at <= clock_timestamp()
        and kind = any(${kinds}::text[])
      order by due_at, noted_at
      limit 1
      for update skip locked
    )
    returning
      id, kind, said as text, fields, tries,
      to_char(noted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at`.execute(db)
  return rows[0] ?? null
}

/** The receiver took it. */
export async function settleNotice(db: Database, id: string): Promise<void> {
  await sql`
    update notices
    set told_at = clock_timestamp(), problem = null
    where id = ${id}`.execute(db)
}

/** Puts a notice off after a failure; one that was noted too long ago is given up, which is said by `true`. */
export async function putOffNotice(
  db: Database,
  id: string,
  failure: { readonly problem: string; readonly waitMs: number; readonly giveUpMs: number },
): Promise<boolean> {
  const { problem, waitMs, giveUpMs } = failure
  const { rows } = await sql<{ given_up: boolean }>`
    update notices
    set
      problem = ${problem},
      due_at = clock_timestamp() + ${waitMs} * interval '1 millisecond',
      given_up_at = case
        when noted_at < clock_timestamp() - ${giveUpMs} * interval '1 millisecond' then clock_timestamp()
      end
    where id = ${id} and told_at is null
    returning given_up_at is not null as given_up`.execute(db)
  return rows[0]?.given_up ?? false
}

/** A notice as it stands, for people. */
export interface NoticeRow {
  readonly id: string
  readonly event: string
  readonly state: 'told' | 'waiting' | 'given up'
  readonly noted_at: string
  readonly told_at: string | null
  readonly tries: number
  readonly text: string
  readonly problem: string | null
}

/** The newest notices first, with what became of each. */
export async function listNotices(db: Database, limit: number): Promise<readonly NoticeRow[]> {
  const { rows } = await sql<NoticeRow>`
    select
      id, kind as event,
      case
        when told_at is not null then 'told'
        when given_up_at is not null then 'given up'
        else 'waiting'
      end as state,
      to_char(noted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as noted_at,
      to_char(told_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as told_at,
      tries, said as text, problem
    from notices
    where part_of is null
    order by notices.noted_at desc, kind, subject
    limit ${limit}`.execute(db)
  return rows
}

/** Notices that wait, and those of the last day that were given up. */
export async function countNotices(
  db: Database,
): Promise<{ readonly waiting: number; readonly given_up: number }> {
  const { rows } = await sql<{ waiting: number; given_up: number }>`
    select
      count(*) filter (where given_up_at is null) as waiting,
      count(*) filter (where given_up_at > clock_timestamp() - interval '1 day') as given_up
    from notices
    where told_at is null and part_of is null`.execute(db)
  return rows[0] ?? { waiting: 0, given_up: 0 }
}
