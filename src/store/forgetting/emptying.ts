import type { Database } from '../database.ts'
import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import { only } from '../statement.ts'
import { addGone, tally, type Gone } from './gone.ts'
import { domainPattern, inBody, leads, members, naming, type DomainName } from './naming.ts'
import { patiently } from './patience.ts'
import type { TellGone } from './queries.ts'

const answersAtOnce = 1000

/**
 * Empties what answers say of a domain, some answers at a time; their places stay, with nobody at them. Null: only what was
 * noted of their entities, topics and related queries goes.
 */
export async function emptyFacts(
  db: Database,
  name: DomainName | null,
  tell: TellGone,
): Promise<Gone> {
  const { rows } = await sql<{ last: number }>`
    select coalesce(max(id), 0) as last from calls`.execute(db)
  const { last } = only(rows)
  let gone: Gone = {}
  for (let after = 0; after < last; after += answersAtOnce) {
    const portion = new Portion(after, after + answersAtOnce)
    const some = await patiently(() =>
      db.transaction().execute(async (trx) => portion.empty(trx, name)),
    )
    gone = addGone(gone, some)
    tell(gone)
  }
  return gone
}

/** The answers of some calls in a row. */
class Portion {
  readonly #after: number
  readonly #until: number

  constructor(after: number, until: number) {
    this.#after = after
    this.#until = until
  }

  async empty(trx: Transaction<DB>, name: DomainName | null): Promise<Gone> {
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

  /** Of its own results all texts go, of others those that name it. */
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

  /** Bodies that hold it, and those of answers of which something was emptied: they would say what is no longer there. */
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
