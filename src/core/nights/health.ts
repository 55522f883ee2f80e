// Reads the data for judging runs: figures, answers, and earlier runs of the same list.

import { otherQuery, paidRefusal } from '../../base/answer.ts'
import type { Database } from '../../base/database/database.ts'
import { type Expression, type Selectable, sql } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import type { ResultFigures, RunAnswer } from './evidence.ts'

type CountedFigure = 'run_id' | 'asked' | 'answered' | 'empty' | 'unreadable' | 'depth' | 'price'
type TimeFigure = 'minutes' | 'paused_minutes' | 'workers'

export interface NightFigures
  extends
    Readonly<Pick<Selectable<DB['night_health']>, CountedFigure | TimeFigure>>,
    Partial<ResultFigures> {
  /** Share of answers that show the results of a different query. */
  readonly doubted?: number
}

export interface JudgedNight extends NightFigures {
  readonly paid_refusal: number
  readonly other_query: number
}

export type EndedRun = Awaited<ReturnType<typeof readEnded>>[number]

export interface NightJudgement {
  /** Reasons to exclude the run's answers from shares and trends, one sentence for each reason. */
  readonly reasons: readonly string[]
  /** Anomalies that do not exclude any answers, one sentence for each anomaly. */
  readonly remarks: readonly string[]
  /** If this is the third similar run and sets a new normal, the id of the first similar run; otherwise null. */
  readonly usualFrom: number | null
}

/** Reads the finished runs that have not been judged since they ended, oldest first. */
export function readEnded(db: Database) {
  return endedRuns(db)
    .leftJoin('night_health as health', 'health.run_id', 'runs.id')
    .where((eb) =>
      eb.or([
        eb('health.judged_at', 'is', null),
        eb('health.judged_at', '<', eb.ref('runs.finished_at')),
      ]),
    )
    .execute()
}

export async function readRuns(db: Database, runs: readonly number[]) {
  return runs.length === 0 ? [] : endedRuns(db).where('runs.id', 'in', runs).execute()
}

function endedRuns(db: Database) {
  return db
    .selectFrom('runs')
    .select((eb) => [
      'runs.id',
      'runs.list_id as list',
      'runs.run_date',
      eb
        .and([
          eb('runs.state', '=', 'done'),
          eb.exists(
            eb
              .selectFrom('tasks')
              .whereRef('tasks.run_id', '=', 'runs.id')
              .where('tasks.state', 'not in', ['reused', 'not_asked', 'unaffordable', 'cancelled']),
          ),
        ])
        .$castTo<boolean>()
        // A run that was cancelled or bought nothing gives no information about the night.
        .as('complete'),
    ])
    .where('runs.state', 'in', ['done', 'cancelled'])
    .where('runs.finished_at', 'is not', null)
    .orderBy('runs.id')
}

/** Reads a run's figures, excluding queries that were skipped or reused older answers. */
export async function readNight(db: Database, run: number): Promise<JudgedNight> {
  const parameters = { paid_refusal: paidRefusal, other_query: otherQuery, run }
  return only(await readRows<JudgedNight>(db, 'read_night', parameters))
}

/** Figures of up to fourteen earlier normal runs since the last new normal, newest first. */
export function usualNights(list: Expression<number>, run: Expression<number>) {
  return sql<NightFigures>`
    select ${figureColumns}
    from night_health as health
    join runs as usual on usual.id = health.run_id
    left join lateral (
      select change.run_id as third, change.usual_from as first
      from night_health as change
      join runs as changed on changed.id = change.run_id
      where changed.list_id = ${list}
        and changed.id < ${run}
        and change.usual_from is not null
      order by changed.id desc
      limit 1
    ) as turn on true
    where usual.list_id = ${list}
      and usual.id < ${run}
      and ${hasFigures}
      and case
        when usual.id <= turn.third then usual.id >= turn.first
        else not usual.suspect and cardinality(health.remarks) = 0
      end
    order by usual.id desc
    limit 14`
}

const figureColumns = sql`
  health.run_id, health.asked, health.answered, health.empty, health.unreadable, health.depth, health.price,
  health.minutes, health.paused_minutes, health.workers, health.compared, health.turnover, health.turnover_newest,
  health.sameness, health.repeats, health.foreign_share, health.stale`

// Cancelled runs, and runs without answers, are not used to determine normal or changed values.
const hasFigures = sql<boolean>`(usual.state = 'done' and health.answered + health.unreadable > 0)`

export type NightsBefore = Awaited<ReturnType<typeof readNightsBefore>>

/** Reads the usual runs that precede a run, and the two runs just before it, newest first. */
export async function readNightsBefore(db: Database, { id, list }: EndedRun) {
  const { rows: usual } = await usualNights(
    sql<number>`${list}::bigint`,
    sql<number>`${id}::bigint`,
  ).execute(db)
  const { rows: last } = await sql<NightFigures>`
    select ${figureColumns}
    from night_health as health
    join runs as usual on usual.id = health.run_id
    where usual.list_id = ${list}
      and usual.id < ${id}
      and ${hasFigures}
    order by usual.id desc
    limit 2`.execute(db)
  return { usual, last }
}

const chunkSize = 500
/** Maximum number of answers to judge, because they are held in memory. */
const mostJudged = 100_000
/** Number of older answers to read per query; higher in the first chunk, to detect copies of last week's answers. */
const history = { first: 12, rest: 4 }

/**
 * Reads a run's purchased answers that have results, each with older answers to its query. Of a larger run, reads a
 * random sample: the answers are in order of their query's id, which is a hash.
 */
export async function readRunAnswers(
  db: Database,
  { id, run_date: date }: Pick<EndedRun, 'id' | 'run_date'>,
  limit = mostJudged,
): Promise<readonly RunAnswer[]> {
  const answers: RunAnswer[] = []
  let after: string | null = '00000000-0000-0000-0000-000000000000'
  for (let left = limit; after !== null && left > 0; left -= chunkSize) {
    const size = Math.min(chunkSize, left)
    const most = answers.length === 0 ? history.first : history.rest
    const chunk = { run: id, date, after, most, chunk_size: size }
    const rows: readonly AnswerRow[] = await readRows<AnswerRow>(db, 'read_night_answers', chunk)
    answers.push(...rows.filter(({ pages }) => pages !== null).map(answerOf))
    after = rows.length < size ? null : (rows.at(-1)?.query_id ?? null)
  }
  return answers
}

interface AnswerRow {
  readonly query_id: string
  readonly search_id: number
  readonly q: string
  readonly pages: Buffer | null
  readonly foreign: number | null
  readonly earlier: Buffer
}

function answerOf({ search_id: id, q, pages, foreign, earlier }: AnswerRow): RunAnswer {
  const older: RunAnswer['earlier'][number][] = []
  for (let at = 0; at < earlier.length;) {
    const day = earlier.readInt32BE(at)
    const trusted = earlier.readInt16BE(at + 4) === 1
    const to = at + 8 + 4 * earlier.readInt16BE(at + 6)
    older.push({ day, trusted, pages: marksOf(earlier.subarray(at + 8, to)) })
    at = to
  }
  return { search_id: id, q, pages: marksOf(pages ?? Buffer.alloc(0)), foreign, earlier: older }
}

function marksOf(packed: Buffer): readonly number[] {
  return Array.from({ length: packed.length / 4 }, (_, nth) => packed.readInt32BE(nth * 4))
}
