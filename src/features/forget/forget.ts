// Deletes all data about a list, text or host, in steps that can be resumed after an interruption.

import type { Database } from '../../base/database/database.ts'
import {
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type ReferenceExpression,
  type SqlBool,
  type Transaction,
} from '../../base/database/kysely.ts'
import { lockKey } from '../../base/database/lock.ts'
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
  type QueryIds,
  type MentionTable,
  mentionTables,
  type OnDeleted,
} from './list.ts'
import {
  addRows,
  clearedIf,
  countNoted,
  countRows,
  type DomainName,
  domainPattern,
  type DeletedRows,
  inBody,
  leads,
  members,
  memberTables,
  naming,
  noteDomain,
  noteRelated,
  patiently,
  readCounts,
  mentions,
  tablesOfAnswers,
  touched,
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
      // Free text does not say which query with the same text it refers to.
      const pattern = subject.all ? wordPattern([subject.q]) : null
      return { pattern, list: null, queries, domain: false }
    }
    case 'domain':
      return { pattern: domainPattern(subject.name), list: null, queries: null, domain: true }
    default:
      throw unhandled('subject', subject)
  }
}

function queriesOf(ids: readonly string[]): QueryIds {
  return expressionBuilder<DB>()
    .selectFrom('queries')
    .where((eb) => eb('id', '=', eb.fn.any(eb.val(ids))))
    .select('id as query_id')
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
      await countMentions(db, (eb) => eb('list_id', '=', id)),
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
  const sayings = await countMentions(db, (eb) => eb('query_id', 'in', ids))
  return addRows(addRows(noted, sayings), await countQueries(db, ids))
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
      await db
        .insertInto('forgetting_queries')
        .columns(['query_id'])
        .expression(queriesOf(subject.ids))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
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

/** Runs work unless another process is forgetting; then returns null. */
export async function aloneForgetting<T>(db: Database, run: () => Promise<T>): Promise<T | null> {
  const key = lockKey(expressionBuilder<DB>().val('querymill forget'))
  return db.connection().execute(async (held) => {
    const { got } = await held
      .selectNoFrom(({ fn }) => fn<boolean>('pg_try_advisory_lock', [key]).as('got'))
      .executeTakeFirstOrThrow()
    if (!got) return null
    try {
      return await run()
    } finally {
      await held.selectNoFrom(({ fn }) => fn('pg_advisory_unlock', [key]).as('released')).execute()
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
    const changed = new Set<number>()
    const gone: Record<string, number> = {}
    for (const [table, change] of this.#changes(trx, name)) {
      const { rows } = await trx.executeQuery(change)
      for (const { id } of rows) changed.add(id)
      gone[table] = rows.length
    }
    return { ...gone, raw_answers: await this.#removeBodies(trx, name, [...changed]) }
  }

  *#changes(
    trx: Transaction<DB>,
    name: DomainName | null,
  ): Generator<readonly [table: string, change: Compilable<{ id: number }>]> {
    for (const table of memberTables) {
      yield [
        table,
        trx
          .deleteFrom(table)
          .where((eb) => this.#holds(eb.ref('search_id')))
          .where(members[table])
          .returning('search_id as id'),
      ]
    }
    if (name === null) return
    const pattern = domainPattern(name)
    yield ['organic_results', this.#emptyResults(trx, pattern)]
    yield ['search_features', this.#emptyFeatures(trx, pattern)]
    yield [
      'searches',
      trx
        .updateTable('searches')
        .set((eb) => ({
          extra: clearedIf(mentions(eb, ['extra'], pattern), eb.ref('extra')),
          as_given: clearedIf(mentions(eb, ['as_given'], pattern), eb.ref('as_given')),
        }))
        .where((eb) => this.#holds(eb.ref('id')))
        .where(naming.searches(pattern))
        .returning('id'),
    ]
  }

  #holds(call: Expression<number>): Expression<SqlBool> {
    const eb = expressionBuilder<DB>()
    return eb.and([eb(call, '>', this.#after), eb(call, '<=', this.#until)])
  }

  /** For the domain's own results, all texts are cleared; for others, those that mention it. */
  #emptyResults(trx: Transaction<DB>, pattern: string) {
    const own = leads('organic_results')
    return trx
      .updateTable('organic_results')
      .set((eb) => {
        const told = (column: ReferenceExpression<DB, 'organic_results'>) =>
          eb.or([own, mentions(eb, [column], pattern)])
        return {
          title: clearedIf(told('title'), eb.ref('title')),
          snippet: clearedIf(told('snippet'), eb.ref('snippet')),
          extra: clearedIf(told('extra'), eb.ref('extra')),
          as_given: clearedIf(told('as_given'), eb.ref('as_given')),
          page_id: clearedIf(own, eb.ref('page_id')),
          domain_id: clearedIf(own, eb.ref('domain_id')),
        }
      })
      .where((eb) => this.#holds(eb.ref('search_id')))
      .where(naming.organic_results(pattern))
      .returning('search_id as id')
  }

  #emptyFeatures(trx: Transaction<DB>, pattern: string) {
    const own = leads('search_features')
    return trx
      .updateTable('search_features')
      .set((eb) => ({
        text: null,
        extra: null,
        page_id: clearedIf(own, eb.ref('page_id')),
        domain_id: clearedIf(own, eb.ref('domain_id')),
      }))
      .where((eb) => this.#holds(eb.ref('search_id')))
      .where(naming.search_features(pattern))
      .returning('search_id as id')
  }

  /**
   * Deletes bodies that contain the domain, and those of answers that were changed, because they still have the old
   * texts.
   */
  #removeBodies(
    trx: Transaction<DB>,
    name: DomainName | null,
    changed: readonly number[],
  ): Promise<number> {
    const noted = trx
      .with('gone', (db) =>
        db
          .deleteFrom('raw_answers')
          .where((eb) => this.#holds(eb.ref('call_id')))
          .where((eb) =>
            eb.or([
              eb('call_id', '=', eb.fn.any(eb.val(changed))),
              ...(name === null ? [] : [inBody(name)]),
            ]),
          )
          .returning('call_id'),
      )
      .insertInto('forgotten_bodies')
      .columns(['call_id'])
      .expression((eb) => eb.selectFrom('gone').select('call_id'))
      .onConflict((conflict) => conflict.doNothing())
    return touched(trx, noted)
  }
}

const ofQueries = ['searches', 'tasks', 'calls', 'expansions'] as const

/** Counts the rows deleted with queries, by table. */
async function countQueries(db: Database, queries: QueryIds): Promise<DeletedRows> {
  const rows = await db
    .with(
      (cte) => cte('gone').materialized(),
      () => queries,
    )
    .with(
      (cte) => cte('answers').materialized(),
      (cte) =>
        cte
          .selectFrom('searches')
          .where('query_id', 'in', cte.selectFrom('gone').select('query_id'))
          .select('id'),
    )
    .with(
      (cte) => cte('paid').materialized(),
      (cte) =>
        cte
          .selectFrom('calls')
          .where('query_id', 'in', cte.selectFrom('gone').select('query_id'))
          .select('id'),
    )
    .with('counts', (cte) => {
      const gone = cte.selectFrom('gone').select('query_id')
      const answers = cte.selectFrom('answers').select('id')
      const paid = cte.selectFrom('paid').select('id')
      return countRows('queries', cte.selectFrom('queries').where('id', 'in', gone)).unionAll([
        ...ofQueries.map((table) =>
          countRows(table, cte.selectFrom(table).where('query_id', 'in', gone)),
        ),
        ...tablesOfAnswers.map((table) =>
          countRows(table, cte.selectFrom(table).where('search_id', 'in', answers)),
        ),
        countRows('raw_answers', cte.selectFrom('raw_answers').where('call_id', 'in', paid)),
      ])
    })
    .selectFrom('counts')
    .select(['name', 'rows'])
    .execute()
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

/** Counts the rows of lists about queries. */
async function countMentions(
  db: Database,
  where: (eb: ExpressionBuilder<DB, MentionTable>) => Expression<SqlBool>,
): Promise<DeletedRows> {
  const [first, ...others] = mentionTables
  const countOf = (table: MentionTable) =>
    countRows(table, db.selectFrom(table).where(where(expressionBuilder())))
  return readCounts(db, countOf(first), others.map(countOf))
}
