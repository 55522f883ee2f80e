// Reads the details of one run.

import { npmRun } from '../../base/cli/commands.ts'
import { firstNames } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { Misuse } from '../../base/errors.ts'
import { usualNights } from '../nights/health.ts'
import type { TaskState } from './status.ts'

/** A run with its purchases and results. */
export type RunFacts = NonNullable<Awaited<ReturnType<typeof readRunFacts>>>

/** Tasks of a run in one state, with their error code. */
export type TaskCount = Awaited<ReturnType<typeof countTasks>>[number]

/** A position gained or lost in a run by one of our domains, or by any domain if no own domains are configured. */
interface RunMove {
  readonly query_id: string
  readonly q: string
  readonly domain: string
  readonly previous: number | null
  /** Day of the previous answer. */
  readonly previous_date: string
  readonly position: number | null
  readonly change: string
  readonly page: string | null
}

const none = sql<string[]>`'{}'`

const factColumns = [
  'runs.id as run',
  'lists.name as list',
  'runs.run_date',
  'runs.kind',
  'runs.state',
  'runs.created_at',
  'runs.finished_at',
  'runs.budget',
  'runs.spent',
  'runs.uncertain',
  'runs.max_age_ms',
  'runs.accepted',
  'runs.duplicates',
  'runs.rejected',
  'runs.suspect',
  'night.schedule',
  'night.due_at',
  'night.outcome',
  'night.note',
  'health.asked',
  'health.answered',
  'health.price',
  'health.depth',
  'health.empty',
  'health.unreadable',
  'health.workers',
] as const

/** Reads the facts of a run; null if no run has this id. */
export async function readRunFacts(db: Database, run: number) {
  const facts = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .leftJoin('night_health as health', 'health.run_id', 'runs.id')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('nights')
          .select(['schedule', 'due_at', 'outcome', 'note'])
          .whereRef('run_id', '=', 'runs.id')
          .orderBy('due_at', 'desc')
          .limit(1)
          .as('night'),
      (join) => join.onTrue(),
    )
    .select(factColumns)
    .select((eb) => [
      eb.fn.coalesce('health.reasons', none).as('reasons'),
      eb.fn.coalesce('health.remarks', none).as('remarks'),
      sql<number | null>`(
        select avg(before.price)::float8
        from (${usualNights(eb.ref('runs.list_id'), eb.ref('runs.id'))}) as before
      )`.as('usual_price'),
      eb
        .selectFrom('runs as earlier')
        .select((earlier) => earlier.fn.max('earlier.id').as('id'))
        .whereRef('earlier.list_id', '=', 'runs.list_id')
        .whereRef('earlier.id', '<', 'runs.id')
        .as('previous'),
      eb
        .selectFrom('runs as later')
        .select((later) => later.fn.min('later.id').as('id'))
        .whereRef('later.list_id', '=', 'runs.list_id')
        .whereRef('later.id', '>', 'runs.id')
        .as('next'),
    ])
    .where('runs.id', '=', run)
    .executeTakeFirst()
  return facts ?? null
}

/** Counts tasks by state and error, most frequent first. */
export function countTasks(db: Database, run: number) {
  return db
    .selectFrom('tasks')
    .select((eb) => [
      eb.ref('state').$castTo<TaskState>().as('state'),
      'error_code as error',
      eb.fn.min('error_message').as('example'),
      eb.fn.countAll<number>().as('tasks'),
    ])
    .where('run_id', '=', run)
    .groupBy(['state', 'error_code'])
    .orderBy('tasks', 'desc')
    .orderBy('state')
    .orderBy('error_code')
    .execute()
}

/** Largest position changes between the answers of a run and the previous ones. */
export function readRunMoves(
  db: Database,
  { run, run_date: date }: Pick<RunFacts, 'run' | 'run_date'>,
) {
  return readRows<RunMove>(db, 'run_moves', { date, run })
}

/** Rejects an unknown run id, because a typo must not look like a run without open tasks. */
export async function expectRun(db: Database, run: number): Promise<void> {
  const found = await db.selectFrom('runs').select('id').where('id', '=', run).executeTakeFirst()
  if (found !== undefined) return
  throw new Misuse(
    `expected --run to be the number of a run, got ${run}, which no run has; ${npmRun('status')} shows them`,
  )
}

/** Rejects an unknown list name. */
export async function expectList(db: Database, list: string): Promise<void> {
  const lists = await db
    .selectFrom('lists')
    .select('name')
    .where('forgotten_at', 'is', null)
    .orderBy('name')
    .execute()
  const names = lists.map(({ name }) => name)
  if (names.includes(list)) return
  throw new Misuse(
    `expected --list to be the name of a list, got ${JSON.stringify(list)}; lists so far: ${firstNames(names)}`,
  )
}

/** Rejects a tag that no query has. */
export async function expectTag(db: Database, tag: string): Promise<void> {
  const rows = await db
    .selectFrom('list_queries')
    .select(({ fn }) => fn<string>('unnest', ['tags']).as('tag'))
    .distinct()
    .orderBy('tag')
    .execute()
  const tags = rows.map((row) => row.tag)
  if (tags.includes(tag)) return
  throw new Misuse(
    `expected --tag to be a label of a list, got ${JSON.stringify(tag)}; labels so far: ${firstNames(tags)}`,
  )
}
