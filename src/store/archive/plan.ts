import type pg from 'pg'
import { findReader } from '../analysis/analyst.ts'
import type { ArchiveReader } from './load.ts'

/** What a question reads, as the server plans it. */
export interface PlannedReading {
  /** For each table of this connection, every word that the plan says of reading it: each column that is read is among them. */
  readonly words: ReadonlyMap<string, ReadonlySet<string>>
  /** Functions that it calls; what these read, the plan does not show. */
  readonly functions: readonly string[]
}

/** A step of a plan, with the steps below it. */
interface Step {
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Step[]
}

interface Planned {
  readonly 'QUERY PLAN': readonly { readonly Plan: Step }[]
}

/**
 * Plans a question over tables that the archive was added to and not yet read into; null where that cannot be told. Tables
 * that inherit are read column by column, so that a plan names no column of theirs that nobody needs; and they have no
 * index, so that it names all that are.
 */
export async function planQuestion(
  client: ArchiveReader,
  text: string,
): Promise<PlannedReading | null> {
  const question = text
    .trim()
    .replace(/(;|\s|--[^\n]*$)+$/, '')
    // Whatever is asked for: a plan for one value may read less than one for another.
    .replaceAll(/\$\d+/g, "current_setting('querymill.asked', true)")
  await client.query('begin read only')
  try {
    const reader = await findReader(client)
    // Planning may call functions that somebody else has made.
    if (reader !== null) await client.query(`set local role ${reader}`)
    const plan: pg.QueryResult<Planned> = await client.query(explaining(question))
    const words = new Map<string, Set<string>>()
    for (const { Plan: step } of plan.rows[0]?.['QUERY PLAN'] ?? []) gatherWords(step, words)
    const called = wordsOf(plan.rows)
    const { rows } = await client.query<{ name: string }>(
      `select distinct proname as name
      from pg_proc
      where pronamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
    )
    return { words, functions: rows.map(({ name }) => name).filter((name) => called.has(name)) }
  } catch {
    // Whatever is wrong with it is told when it is asked.
    return null
  } finally {
    await client.query('rollback')
  }
}

/** As one statement: what stands behind a second semicolon would be run. */
function explaining(question: string): pg.QueryConfig {
  const asked = { text: `explain (verbose, format json) ${question}`, queryMode: 'extended' }
  return asked
}

function gatherWords(step: Step, words: Map<string, Set<string>>): void {
  const { 'Relation Name': table, Plans: below = [], ...said } = step
  if (table !== undefined) {
    const found = words.get(table) ?? new Set()
    words.set(table, new Set([...found, ...wordsOf(said)]))
  }
  for (const each of below) gatherWords(each, words)
}

/** The words of something, and the sign for a row as a whole. */
function wordsOf(said: unknown): ReadonlySet<string> {
  const found = JSON.stringify(said).toLowerCase()
  return new Set([...found.matchAll(/\w+|\.\*/g)].map(([word]) => word))
}

/** Columns of a table that no row may be without. */
export async function readRequired(
  client: ArchiveReader,
  table: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname as name
    from pg_attribute
    where attrelid = to_regclass('public.' || quote_ident($1)) and attnum > 0 and attnotnull`,
    [table],
  )
  return rows.map(({ name }) => name)
}
