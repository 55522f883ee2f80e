// Deletes all data about a list, text or host, in steps that can be resumed after an interruption.

import type { Database } from '../../base/database/database.ts'
import { type RawBuilder, sql, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { unhandled } from '../../base/errors.ts'
import {
  aloneIn,
  clearDays,
  endList,
  forgetMembers,
  forgetQueries,
  type List,
  markAlone,
  markDays,
  mentionTables,
  type OnDeleted,
} from './list.ts'
import {
  addRows,
  countNoted,
  type DomainName,
  domainPattern,
  type DeletedRows,
  inBody,
  leads,
  members,
  naming,
  noteDomain,
  noteRelated,
  patiently,
  tablesOfAnswers,
  tally,
  wordPattern,
} from './naming.ts'
import { forgetTexts, forgetWords, type WantedTexts } from './texts.ts'

/** A subject to forget. */
export type Forgettable =
  | { readonly kind: 'list'; readonly list: List }
  | {
      readonly kind: 'query'
      readonly q: string
      readonly ids: readonly string[]
      readonly all: boolean
    }
  | { readonly kind: 'domain'; readonly name: DomainName }

function wantedOf(subject: Forgettable): WantedTexts {
  switch (subject.kind) {
    case 'list': {
      const { list } = subject
      const queries = aloneIn(list.id)
      return { pattern: wordPattern([list.name]), list, queries, domain: false }
    }
    case 'query': {
      const queries = queriesOf(subject.ids)
      // Free text does not tell which query with the same text it refers to.
      const pattern = subject.all ? wordPattern([subject.q]) : null
      return { pattern, list: null, queries, domain: false }
    }
    case 'domain':
      return { pattern: domainPattern(subject.name), list: null, queries: null, domain: true }
    default:
      throw unhandled('subject', subject)
  }
}

function queriesOf(ids: readonly string[]) {
  return sql<{ query_id: string }>`select query_id from unnest(${ids}::uuid[]) as q (query_id)`
}

/** Counts the rows that would be deleted, by table; changes nothing. */
export async function countSubject(db: Database, subject: Forgettable): Promise<DeletedRows> {
  const texts = await forgetTexts(db, wantedOf(subject), { keep: true })
  return addRows(texts, await countFacts(db, subject))
}

async function countFacts(db: Database, subject: Forgettable): Promise<DeletedRows> {
  if (subject.kind === 'list') {
    const { id } = subject.list
    return addRows(
      await countMentions(db, sql`list_id = ${id}`),
      await countQueries(db, aloneIn(id)),
    )
  }
  const noted = await undone(db, async (trx) => {
    if (subject.kind === 'domain') await noteDomain(trx, subject.name)
    else if (subject.all) await noteRelated(trx, subject.q)
    return countNoted(trx, subject.kind === 'domain' ? subject.name : null)
  })
  if (subject.kind === 'domain') return noted
  const ids = queriesOf(subject.ids)
  const mentions = await countMentions(db, sql`query_id in (${ids})`)
  return addRows(addRows(noted, mentions), await countQueries(db, ids))
}

/** Runs work in a transaction and rolls it back. */
async function undone<T>(db: Database, look: (trx: Database) => Promise<T>): Promise<T> {
  const trx = await db.startTransaction().execute()
  try {
    return await look(trx)
  } finally {
    await trx.rollback().execute()
  }
}

/** Forgets in atomic batches; if interrupted, calling it again continues. */
export async function forgetSubject(
  db: Database,
  subject: Forgettable,
  onDeleted: OnDeleted,
): Promise<DeletedRows> {
  const texts = await forgetTexts(db, wantedOf(subject), { keep: false })
  const facts = await forgetFacts(db, subject, onDeleted)
  const words = await forgetWords(db)
  await clearDays(db)
  return addRows(addRows(texts, facts), words)
}

async function forgetFacts(
  db: Database,
  subject: Forgettable,
  onDeleted: OnDeleted,
): Promise<DeletedRows> {
  await markDays(db)
  switch (subject.kind) {
    case 'list': {
      await markAlone(db, subject.list.id)
      const gone = await forgetQueries(db, onDeleted)
      return addRows(gone, await forgetMembers(db, subject.list.id, onDeleted))
    }
    case 'query': {
      const related = subject.all ? await forgetRelated(db, subject.q, onDeleted) : {}
      await sql`
        insert into forgetting_queries (query_id)
        select unnest(${subject.ids}::uuid[])
        on conflict do nothing`.execute(db)
      return addRows(related, await forgetQueries(db, onDeleted))
    }
    case 'domain':
      await noteDomain(db, subject.name)
      return emptyFacts(db, subject.name, onDeleted)
    default:
      throw unhandled('subject', subject)
  }
}

async function forgetRelated(db: Database, q: string, onDeleted: OnDeleted): Promise<DeletedRows> {
  await noteRelated(db, q)
  return emptyFacts(db, null, onDeleted)
}

/** Ends a list whose queries and members are deleted; returns false if it was read again in the meantime. */
export async function sealList(db: Database, list: List): Promise<boolean> {
  const ended = await endList(db, list)
  // Sums stored in the meantime contain the list's name.
  await clearDays(db)
  return ended
}

/** Continues an interrupted command. */
export async function finishForgetting(db: Database, onDeleted: OnDeleted): Promise<DeletedRows> {
  const gone = addRows(await forgetQueries(db, onDeleted), await forgetWords(db))
  await clearDays(db)
  return gone
}

const lockName = sql`hashtextextended('querymill forget', 0)`

/** Runs work unless another process is forgetting; then returns null. */
export async function aloneForgetting<T>(db: Database, run: () => Promise<T>): Promise<T | null> {
  return db.connection().execute(async (held) => {
    const { rows } = await sql<{
      got: boolean
    }>`select pg_try_advisory_lock(${lockName}) as got`.execute(held)
    if (rows[0]?.got !== true) return null
    try {
      return await run()
    } finally {
      await sql`select pg_advisory_unlock(${lockName})`.execute(held)
    }
  })
}

const answersAtOnce = 1000

/**
 * Clears the texts about a domain in answers, batch by batch; positions remain, without their holder. With null, only
 * references to noted entities, topics and related queries are deleted.
 */
async function emptyFacts(
  db: Database,
  name: DomainName | null,
  onDeleted: OnDeleted,
): Promise<DeletedRows> {
  const { last } = await db
    .selectFrom('calls')
    .select((eb) => eb.fn.coalesce(eb.fn.max('id'), eb.lit(0)).as('last'))
    .executeTakeFirstOrThrow()
  let gone: DeletedRows = {}
  for (let after = 0; after < last; after += answersAtOnce) {
    const portion = new Portion(after, after + answersAtOnce)
    const some = await patiently(() =>
      db.transaction().execute(async (trx) => portion.empty(trx, name)),
    )
    gone = addRows(gone, some)
    onDeleted(gone)
  }
  return gone
}

/** Answers of a range of calls. */
class Portion {
  readonly #after: number
  readonly #until: number

  constructor(after: number, until: number) {
    this.#after = after
    this.#until = until
  }

  async empty(trx: Transaction<DB>, name: DomainName | null): Promise<DeletedRows> {
    const touched = new Set<number>()
    const gone: Record<string, number> = {}
    for (const [table, change] of this.#changes(name)) {
      const { rows } = await change.execute(trx)
      for (const { id } of rows) touched.add(id)
      gone[table] = rows.length
    }
    return { ...gone, raw_answers: await this.#removeBodies(trx, name, [...touched]) }
  }

  *#changes(
    name: DomainName | null,
  ): Generator<readonly [table: string, change: RawBuilder<{ id: number }>]> {
    for (const [table, where] of Object.entries(members)) {
      yield [
        table,
        sql`
          delete from ${sql.table(table)}
          where ${this.#holds('search_id')} and ${where}
          returning search_id as id`,
      ]
    }
    if (name === null) return
    const pattern = domainPattern(name)
    yield ['organic_results', this.#emptyResults(pattern)]
    yield ['search_features', this.#emptyFeatures(pattern)]
    yield [
      'searches',
      sql`
        update searches
        set
          extra = case when extra::text ~* ${pattern} then null else extra end,
          as_given = case when as_given::text ~* ${pattern} then null else as_given end
        where ${this.#holds('id')} and ${naming.searches(pattern)}
        returning id`,
    ]
  }

  #holds(column: string): RawBuilder<boolean> {
    return sql<boolean>`${sql.ref(column)} > ${this.#after} and ${sql.ref(column)} <= ${this.#until}`
  }

  /** For the domain's own results, all texts are cleared; for others, those that mention it. */
  #emptyResults(pattern: string): RawBuilder<{ id: number }> {
    const own = leads('organic_results')
    const emptied = ['title', 'snippet', 'extra', 'as_given'].map((column) => {
      const text = sql.ref(column)
      return sql`${text} = case when ${own} or ${text}::text ~* ${pattern} then null else ${text} end`
    })
    return sql`
      update organic_results
      set ${sql.join(emptied)},
        page_id = case when ${own} then null else page_id end,
        domain_id = case when ${own} then null else domain_id end
      where ${this.#holds('search_id')} and ${naming.organic_results(pattern)}
      returning search_id as id`
  }

  #emptyFeatures(pattern: string): RawBuilder<{ id: number }> {
    const own = leads('search_features')
    return sql`
      update search_features
      set text = null, extra = null,
        page_id = case when ${own} then null else page_id end,
        domain_id = case when ${own} then null else domain_id end
      where ${this.#holds('search_id')} and ${naming.search_features(pattern)}
      returning search_id as id`
  }

  /**
   * Deletes bodies that contain the domain, and those of answers that were changed, because they still have the old
   * texts.
   */
  #removeBodies(
    trx: Transaction<DB>,
    name: DomainName | null,
    touched: readonly number[],
  ): Promise<number> {
    const held = name === null ? sql<boolean>`false` : inBody(name)
    return tally(
      sql`
        with gone as (
          delete from raw_answers
          where ${this.#holds('call_id')} and (call_id = any(${touched}::bigint[]) or ${held})
          returning call_id
        )
        insert into forgotten_bodies (call_id)
        select call_id from gone
        on conflict do nothing`.execute(trx),
    )
  }
}

const ofQueries = ['queries', 'searches', 'tasks', 'calls', 'expansions'] as const

/** Counts the rows deleted with queries, by table. */
async function countQueries(
  db: Database,
  queries: RawBuilder<{ query_id: string }>,
): Promise<DeletedRows> {
  const own = ofQueries.map((table) => {
    const key = table === 'queries' ? 'id' : 'query_id'
    return sql`
      select ${table} as name, count(*) as rows
      from ${sql.table(table)}
      where ${sql.ref(key)} in (select query_id from gone)`
  })
  const told = tablesOfAnswers.map(
    (table) => sql`
      select ${table}, count(*) from ${sql.table(table)} where search_id in (select id from answers)`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`
    with gone as materialized (${queries}),
    answers as materialized (
      select id from searches where query_id in (select query_id from gone)
    ),
    paid as materialized (
      select id from calls where query_id in (select query_id from gone)
    )
    ${sql.join([...own, ...told], sql` union all `)}
    union all
    select 'raw_answers', count(*) from raw_answers where call_id in (select id from paid)`.execute(
    db,
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

/** Counts the rows of lists about queries. */
async function countMentions(db: Database, where: RawBuilder<boolean>): Promise<DeletedRows> {
  const own = mentionTables.map(
    (table) =>
      sql`select ${table} as name, count(*) as rows from ${sql.table(table)} where ${where}`,
  )
  const { rows } = await sql<{ name: string; rows: number }>`
    ${sql.join(own, sql` union all `)}`.execute(db)
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}
