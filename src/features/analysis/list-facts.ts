// Reads facts about a list and its queries.

import type { Database } from '../../base/database/database.ts'
import { type Expression, expressionBuilder, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DaySpan } from '../../base/time/zone.ts'

export type ListFacts = Awaited<ReturnType<typeof readListFacts>>[number]

/** Reads all lists, or one list, with their newest runs. */
export function readListFacts(db: Database, only: number | null) {
  return db
    .selectFrom('lists')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('runs')
          .selectAll()
          .whereRef('runs.list_id', '=', 'lists.id')
          .orderBy('runs.run_date', 'desc')
          .orderBy('runs.id', 'desc')
          .limit(1)
          .as('newest'),
      (join) => join.onTrue(),
    )
    .select(['lists.id', 'lists.name', 'lists.source', 'lists.budget'])
    .select(['newest.id as run', 'newest.run_date as runDate', 'newest.rows', 'newest.accepted'])
    .select(['newest.duplicates', 'newest.rejected', 'newest.state'])
    .select((eb) => [
      eb.ref('lists.reading').$castTo<Readonly<Record<string, unknown>> | null>().as('reading'),
      eb
        .selectFrom('list_queries')
        .select(({ fn }) => fn.countAll<number>().as('members'))
        .whereRef('list_queries.list_id', '=', 'lists.id')
        .where('list_queries.last_seen', '=', newestReading(eb.ref('lists.id')))
        .$asScalar()
        .$notNull()
        .as('members'),
      eb.fn
        .coalesce(
          eb
            .selectFrom('runs')
            .select(({ fn }) => fn.sum<number>('runs.spent').as('spent'))
            .whereRef('runs.list_id', '=', 'lists.id')
            .where('runs.run_date', '>', sql<string>`current_date - 30`),
          eb.lit(0),
        )
        .as('credits'),
    ])
    .where((eb) =>
      only === null ? eb('lists.forgotten_at', 'is', null) : eb('lists.id', '=', only),
    )
    .orderBy('lists.name')
    .execute()
}

/** Selects the time at which a list was last read. */
export function newestReading(list: Expression<number>) {
  return expressionBuilder<DB>()
    .selectFrom('list_queries as others')
    .select(({ fn }) => fn.max('others.last_seen').as('last_seen'))
    .where('others.list_id', '=', list)
}

/** A list's queries on one day, counted by outcome. */
export interface ListCoverage {
  readonly planned: number
  readonly answered: number
  readonly bought: number
  readonly reused: number
  readonly notAsked: number
  readonly failed: number
  readonly unknown: number
  readonly open: number
  /** Queries whose answer is unreadable, suspect or hidden, and unaffordable or cancelled queries. */
  readonly others: number
}

export interface ListDay extends ListCoverage {
  /** The list's newest run on that day. */
  readonly run: number | null
  readonly runDate: string
  readonly credits: number
}

/**
 * Reads a list's daily coverage and cost, newest first. Coverage is read through `cached`, with a key that changes only
 * if the coverage changes. The key is null if the day's sums are not stored.
 */
export async function readListDays(
  db: Database,
  { name, since, until }: DaySpan & { readonly name: string },
  cached = (_key: string | null, read: () => Promise<ListCoverage | null>) => read(),
) {
  type RunDay = Omit<ListDay, keyof ListCoverage> & { readonly version: string | null }
  const rows = await readRows<RunDay>(db, 'read_list_days', { name, since, until })
  const days: ListDay[] = []
  for (const { version, ...day } of rows) {
    const key = version === null ? null : JSON.stringify([version, name, day.runDate])
    const coverage = await cached(key, async () => {
      const parameters = { name, day: day.runDate }
      return (await readRows<ListCoverage>(db, 'read_list_coverage', parameters))[0] ?? null
    })
    if (coverage !== null) days.push({ ...day, ...coverage })
  }
  return days
}

interface MemberChoice {
  readonly list: number
  readonly word: string | null
  readonly tag: string | null
  /** If true, reads only queries whose text is spelled differently in the list. */
  readonly respelled: boolean
  readonly skip: number
  readonly most: number
}

/** Reads a list's queries, highest weight first, followed by queries that are no longer in the list. */
export function readListMembers(
  db: Database,
  { list, word, tag, respelled, skip, most }: MemberChoice,
) {
  return db
    .selectFrom('list_queries as members')
    .innerJoin('queries', 'queries.id', 'members.query_id')
    .select(['queries.id', 'queries.q', 'members.weight', 'members.priority', 'members.tags'])
    .select(['members.target_url as target', 'members.given'])
    .select(({ fn }) =>
      fn<string>('analysis.variant', [
        ...(['queries.device', 'queries.location', 'queries.hl', 'queries.gl'] as const),
        'queries.num',
      ]).as('variant'),
    )
    .select((eb) =>
      eb('members.last_seen', '=', newestReading(eb.val(list)))
        .$castTo<boolean>()
        .as('current'),
    )
    .where('members.list_id', '=', list)
    .$if(word !== null, (members) =>
      members.where(sql<boolean>`strpos(lower(queries.q), lower(${word})) > 0`),
    )
    .$if(tag !== null, (members) =>
      members.where((eb) => eb(eb.val(tag ?? ''), '=', eb.fn.any('members.tags'))),
    )
    .$if(respelled, (members) => members.where('members.given', 'is not', null))
    .orderBy('current', 'desc')
    .orderBy('members.weight', (order) => order.desc().nullsLast())
    .orderBy('queries.q')
    .orderBy('queries.id')
    .limit(most)
    .offset(skip)
    .execute()
}

export function readRejectedLines(db: Database, run: number) {
  return db
    .selectFrom('rejected_lines')
    .select(['line', 'reason', 'content'])
    .where('run_id', '=', run)
    .orderBy('line')
    .limit(200)
    .execute()
}
