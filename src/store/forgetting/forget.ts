import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { countQueries, countSayings } from './count.ts'
import { clearDays, noteDays } from './days.ts'
import { emptyFacts } from './emptying.ts'
import { addGone, type Gone } from './gone.ts'
import { aloneIn, endList, forgetMembers, noteAlone, type List } from './list.ts'
import {
  countNoted,
  domainPattern,
  noteDomain,
  noteRelated,
  wordPattern,
  type DomainName,
} from './naming.ts'
import { forgetQueries, type TellGone } from './queries.ts'
import { forgetTexts, type WantedTexts } from './texts.ts'
import { forgetWords } from './words.ts'

/** What is to be forgotten. */
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
      // Texts do not say which of the queries of one text they are about.
      const pattern = subject.all ? wordPattern([subject.q]) : null
      return { pattern, list: null, queries, domain: false }
    }
    case 'domain':
      return { pattern: domainPattern(subject.name), list: null, queries: null, domain: true }
    default:
      throw new Error(`unhandled subject ${JSON.stringify(subject satisfies never)}`)
  }
}

function queriesOf(ids: readonly string[]) {
  return sql<{ query_id: string }>`select query_id from unnest(${ids}::uuid[]) as q (query_id)`
}

/** Counts what would go, by table, and changes nothing. */
export async function countSubject(db: Database, subject: Forgettable): Promise<Gone> {
  const texts = await forgetTexts(db, wantedOf(subject), { keep: true })
  return addGone(texts, await countFacts(db, subject))
}

async function countFacts(db: Database, subject: Forgettable): Promise<Gone> {
  if (subject.kind === 'list') {
    const { id } = subject.list
    return addGone(
      await countSayings(db, sql`list_id = ${id}`),
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
  const sayings = await countSayings(db, sql`query_id in (${ids})`)
  return addGone(addGone(noted, sayings), await countQueries(db, ids))
}

/** Does something, and takes it back. */
async function undone<T>(db: Database, look: (trx: Database) => Promise<T>): Promise<T> {
  const trx = await db.startTransaction().execute()
  try {
    return await look(trx)
  } finally {
    await trx.rollback().execute()
  }
}

/** Forgets, in portions that are whole by themselves; done again after it broke off it goes on. */
export async function forgetSubject(
  db: Database,
  subject: Forgettable,
  tell: TellGone,
): Promise<Gone> {
  const texts = await forgetTexts(db, wantedOf(subject), { keep: false })
  const facts = await forgetFacts(db, subject, tell)
  const words = await forgetWords(db)
  await clearDays(db)
  return addGone(addGone(texts, facts), words)
}

async function forgetFacts(db: Database, subject: Forgettable, tell: TellGone): Promise<Gone> {
  await noteDays(db)
  switch (subject.kind) {
    case 'list': {
      await noteAlone(db, subject.list.id)
      const gone = await forgetQueries(db, tell)
      return addGone(gone, await forgetMembers(db, subject.list.id, tell))
    }
    case 'query': {
      const related = subject.all ? await forgetRelated(db, subject.q, tell) : {}
      await sql`
        insert into forgetting_queries (query_id)
        select unnest(${subject.ids}::uuid[])
        on conflict do nothing`.execute(db)
      return addGone(related, await forgetQueries(db, tell))
    }
    case 'domain':
      await noteDomain(db, subject.name)
      return emptyFacts(db, subject.name, tell)
    default:
      throw new Error(`unhandled subject ${JSON.stringify(subject satisfies never)}`)
  }
}

async function forgetRelated(db: Database, q: string, tell: TellGone): Promise<Gone> {
  await noteRelated(db, q)
  return emptyFacts(db, null, tell)
}

/** Ends a list whose queries and members are gone: false when it was read again meanwhile. */
export async function sealList(db: Database, list: List): Promise<boolean> {
  const ended = await endList(db, list)
  // Sums that were kept meanwhile name the list.
  await clearDays(db)
  return ended
}

/** Goes on with what an earlier forgetting left that broke off. */
export async function finishForgetting(db: Database, tell: TellGone): Promise<Gone> {
  const gone = addGone(await forgetQueries(db, tell), await forgetWords(db))
  await clearDays(db)
  return gone
}

const lockName = sql`hashtextextended('querymill forget', 0)`

/** Runs while no other process forgets: null, when one does. */
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
