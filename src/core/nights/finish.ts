// Computes and stores the sums for finished days.

import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { dictionaryTables, factTables, sumTables } from '../../base/database/facts.ts'
import { expressionBuilder, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { only, readRows, statement } from '../../base/database/sql-file.ts'
import { prepareReading } from '../../base/database/views.ts'
import { codeOf } from '../../base/errors.ts'
import { pause } from '../../base/waiting.ts'
import { storeStatement } from '../ledger/statement.ts'

/**
 * Time before which a process must have begun that stores a day, or it is assumed to be dead. A query takes about one
 * millisecond, and far longer on a busy machine.
 */
const abandonedBefore = sql<Date>`
  clock_timestamp() - interval '15 minutes' - interval '10 milliseconds' * (
    select coalesce(sum(runs.accepted), 0) from runs where runs.run_date = finished_days.run_date
  )`

const all = expressionBuilder<DB>()
/** Settings that the sums depend on, as text; null if sums cannot be stored. */
const basis = all.fn<string>('analysis.basis')
const keywordBasis = all.fn<string>('analysis.keyword_basis')
const archivedDays = all.selectFrom('archived_days').select('archived_days.run_date')

interface FinishOptions {
  readonly since?: string | undefined
  readonly report?: (day: string, left: number) => void
  /** If this signal is aborted, no more days are processed. */
  readonly signal?: AbortSignal
}

/** Stores the sums for ended days, oldest first; returns the number of days. Stops if a day changes in the meantime. */
export async function finishDays(
  db: Database,
  most = Infinity,
  { since, report, signal }: FinishOptions = {},
): Promise<number> {
  await throwAway(db)
  let kept = 0
  const days = await readDaysToFinish(db, since)
  // With the statistics of small or empty tables, the first day of a large list would take minutes.
  if (days.length > 0) await analyzeChanged(db)
  for (const [nth, day] of days.entries()) {
    if (kept === most || signal?.aborted === true) break
    const finish = await beginFinish(db, day)
    if (finish === null) continue
    if (!(await othersEnded(db)) || !(await addUp(db, finish, day))) {
      await db
        .deleteFrom('finished_days')
        .where('id', '=', finish)
        .where('made_at', 'is', null)
        .execute()
      break
    }
    kept += 1
    report?.(day, days.length - nth - 1)
  }
  await keepKeywords(db, { most, signal })
  await storeStatement(db)
  return kept
}

/** Number of newest days with stored keyword tables. Keyword tables of older days are computed from the answers. */
const keywordDays = 100

/** Stores missing keywords of finished days, and keywords based on an outdated domain file, newest days first. */
async function keepKeywords(
  db: Database,
  { most, signal }: { readonly most: number; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const { missing, old } = await readKeywordDays(db)
  for (const table of ['finished_keywords', 'finished_keyword_days'] as const) {
    if (old.length > 0) await db.deleteFrom(table).where('finish_id', 'in', old).execute()
  }
  for (const { id, day } of missing.slice(0, most)) {
    if (signal?.aborted === true || !(await storeKeywords(db, id, day))) return
  }
}

async function readKeywordDays(db: Database) {
  const days = await db
    .selectFrom('finished_days as days')
    .leftJoin('finished_keyword_days as kept', 'kept.finish_id', 'days.id')
    // Archived answers can't be read again, so the stored data for their day remains unchanged.
    .leftJoin('archived_days as away', 'away.run_date', 'days.run_date')
    .select((eb) => [
      'days.id',
      'days.run_date as day',
      eb.or([eb('kept.basis', '=', keywordBasis), eb('away.run_date', 'is not', null)]).as('valid'),
      'kept.finish_id as stored',
    ])
    .where('days.made_at', 'is not', null)
    .where('days.basis', '=', basis)
    .orderBy('days.run_date', 'desc')
    .execute()
  return {
    missing: days.slice(0, keywordDays).filter(({ valid }) => valid !== true),
    old: days.slice(keywordDays).flatMap(({ stored }) => stored ?? []),
  }
}

/** Stores a day's keywords. Returns false if the day changed, or if another process is storing the day. */
async function storeKeywords(db: Database, finish: number, day: string): Promise<boolean> {
  const store = async (trx: Database) => {
    // Any change to the day deletes this row. With the lock, either the change waits or this transaction fails.
    const found = await trx
      .selectFrom('finished_days')
      .select('id')
      .where('id', '=', finish)
      .forNoKeyUpdate()
      .executeTakeFirst()
    if (found === undefined) throw new Changed()
    await trx.deleteFrom('finished_keywords').where('finish_id', '=', finish).execute()
    await trx.deleteFrom('finished_keyword_days').where('finish_id', '=', finish).execute()
    await trx.executeQuery(statement('finish_keywords', { finish, day }))
    const kept = { finish_id: finish, basis: keywordBasis }
    await trx.insertInto('finished_keyword_days').values(kept).execute()
  }
  // 23505 (unique violation): another process stored the same day concurrently.
  return unlessChanged(db, store, [...changedMeanwhile, '23505'])
}

const changedMeanwhile = ['40001', '40P01']

class Changed extends Error {}

/** Runs the function in one snapshot. Returns false if an error with a given code shows that the data changed. */
async function unlessChanged(
  db: Database,
  work: (trx: Database) => Promise<void>,
  codes = changedMeanwhile,
): Promise<boolean> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read')
  try {
    await snapshot.execute(async (trx) => {
      await prepareReading(trx, {})
      await work(trx)
    })
    return true
  } catch (error) {
    if (error instanceof Changed || codes.includes(codeOf(error) ?? '')) return false
    throw error
  }
}

async function throwAway(db: Database): Promise<void> {
  await db
    .deleteFrom('finished_days')
    .where((eb) =>
      eb.or([
        eb.and([
          eb('basis', 'is distinct from', basis),
          // Sums for archived days are kept, because the database no longer has the data to compute them again.
          eb('run_date', 'not in', archivedDays),
        ]),
        eb.and([eb('made_at', 'is', null), eb('begun_at', '<', abandonedBefore)]),
      ]),
    )
    .execute()
  for (const table of sumTables) {
    await db
      .deleteFrom(table)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb.selectFrom('finished_days').whereRef('finished_days.id', '=', `${table}.finish_id`),
          ),
        ),
      )
      .execute()
  }
}

/** Inserts a row, which is deleted if the day's data changes. Returns null if another process is storing the day. */
async function beginFinish(db: Database, day: string): Promise<number | null> {
  const begun = await db
    .insertInto('finished_days')
    .values({ run_date: day, basis })
    .onConflict((conflict) => conflict.column('run_date').doNothing())
    .returning('id')
    .executeTakeFirst()
  return begun?.id ?? null
}

/** Waits for writers that may not have seen the inserted row. Active writers hold a lock on their transaction id. */
async function othersEnded(db: Database): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select transactionid::text as id
    from pg_locks
    join pg_stat_activity using (pid)
    where locktype = 'transactionid'
      and granted
      and datname = current_database()`.execute(db)
  const others = rows.map(({ id }) => id)
  for (let look = 0; look < 10; look++) {
    const { rows: there } = await sql`
      select
      from pg_locks
      where locktype = 'transactionid'
        and granted
        and transactionid::text = any(${others}::text[])`.execute(db)
    if (there.length === 0) return true
    await pause(100)
  }
  return false
}

async function addUp(db: Database, finish: number, day: string): Promise<boolean> {
  return unlessChanged(db, async (trx) => {
    for (const name of sumsOfDay) await trx.executeQuery(statement(name, { finish, day }))
    const made = await trx
      .updateTable('finished_days')
      .set({ made_at: clock })
      .where('id', '=', finish)
      .where('basis', '=', basis)
      .returning('id')
      .executeTakeFirst()
    if (made === undefined) throw new Changed()
  })
}

const sumsOfDay = [
  'finish_labels',
  'finish_queries',
  // Stores the domains and pages of answers, which later statements read.
  'finish_answers',
  'finish_shares',
  'finish_steps',
  'finish_losses',
  'finish_groups',
  'finish_related',
  'finish_costs',
  'finish_outcomes',
  'find_strays',
]

/** Reads the days without stored sums that are earlier than all unfinished runs. */
export async function readDaysToFinish(db: Database, since = '-infinity') {
  const days = await db
    .selectFrom('runs')
    .select('run_date as day')
    .distinct()
    .where(basis, 'is not', null)
    .where('run_date', '>=', since)
    .where((eb) =>
      eb(
        'run_date',
        '<',
        eb.fn.coalesce(
          eb
            .selectFrom('runs as going')
            .select((going) => going.fn.min('going.run_date').as('first'))
            .where('going.state', 'in', ['planning', 'open']),
          sql.lit('infinity'),
        ),
      ),
    )
    // Sums cannot be computed for archived days.
    .where('run_date', 'not in', archivedDays)
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('finished_days')
            .whereRef('finished_days.run_date', '=', 'runs.run_date')
            .where('finished_days.basis', '=', basis),
        ),
      ),
    )
    .orderBy('day')
    .execute()
  return days.map(({ day }) => day)
}

export async function anyUnfinished(db: Database): Promise<boolean> {
  return (await readDaysToFinish(db)).length + (await readKeywordDays(db)).missing.length > 0
}

/** Counts days without sums: not started (`open`), started (`begun`), or waiting for runs to end (`waiting`). */
export async function readDaysLeft(db: Database, since = '-infinity') {
  const { begun, missing } = only(
    await readRows<{ begun: number; missing: number }>(db, 'days_left', { since }),
  )
  const open = (await readDaysToFinish(db, since)).length
  return { open, begun, waiting: missing - open }
}

/** Tables that grow with each night, and that are read for its sums and by analysts. */
const analyzed = [
  ...factTables,
  ...dictionaryTables,
  ...sumTables,
  'calls',
  'finished_days',
  'list_queries',
  'list_query_history',
  'queries',
  'runs',
  'searches',
  'seen_pages',
  'tasks',
] as const satisfies readonly (keyof DB)[]

/** Updates the statistics of tables that have changed much, rather than waiting up to a minute for autovacuum. */
export async function analyzeChanged(db: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select relname as name
    from pg_stat_user_tables
    where schemaname = 'public'
      and relname = any(${analyzed})
      and n_mod_since_analyze > 50 + n_live_tup / 10`.execute(db)
  if (rows.length === 0) return
  await sql`analyze ${sql.join(rows.map(({ name }) => sql.id('public', name)))}`.execute(db)
}
