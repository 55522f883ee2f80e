// The trust command: shows quarantined answers, and stores decisions about whether to trust runs and answers.

import { npmRun } from '../../base/cli/commands.ts'
import { userInfo } from 'node:os'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { count, formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { isDay } from '../../base/time/zone.ts'
import { openMill } from '../../core/mill.ts'
import { readRuns } from '../../core/nights/health.ts'
import { judgeEnded } from '../../core/nights/judge.ts'
import { endNights } from './find-alerts.ts'

interface TrustFlags {
  readonly run?: string
  readonly date?: string
  readonly list?: string
  readonly answer?: readonly string[]
  readonly because?: string
  readonly by?: string
  readonly usual?: true
}

type TrustCall = Call<TrustFlags>

export async function runTrust(call: TrustCall): Promise<Exit> {
  const [action = 'show'] = call.args
  const config = readConfig(call.env)
  const { closers } = call
  const reading = action === 'show'
  const mill = await openMill({ config, closers, say, name: 'trust', connections: 1, reading })
  const { db } = mill
  if (reading) {
    const { run } = call.options
    return show(db, call, run === undefined ? null : [countFlag('run', run)])
  }
  const runs = await decide(db, call)
  await judgeAgain(db, runs)
  await endNights(mill, say)
  return show(db, call, runs)
}

/** Stores the decision given by the flags; returns the runs that the decision affects. */
async function decide(db: Database, { options, args: [action, subject] }: TrustCall) {
  const by = options.by ?? userInfo().username
  if (action === 'undo') {
    const id = countFlag('id', subject ?? '')
    const undone = await db
      .updateTable('trust_marks')
      .set({ undone_at: clock, undone_by: by })
      .where('id', '=', id)
      .where('undone_at', 'is', null)
      .returning('run_id')
      .executeTakeFirst()
    if (undone !== undefined) return [undone.run_id]
    throw new Misuse(
      `expected the number of a decision in force, got ${id}; ${npmRun('trust')} lists the decisions`,
    )
  }
  if (action !== 'accept' && action !== 'distrust') {
    throw new Misuse(`expected show, accept, distrust or undo, got ${JSON.stringify(action)}`)
  }
  const { because: reason = '', usual = false } = options
  if (reason.trim() === '') throw new Misuse('expected a reason, got none; add --because "..."')
  const trusted = action === 'accept'
  if (usual && (!trusted || options.answer !== undefined)) {
    throw new Misuse('--usual can only be used with accept and a run, list or date')
  }
  const targets = await findTargets(db, options)
  const marks = targets.map((target) => ({ ...target, trusted, usual, reason, made_by: by }))
  // The decisions take effect when the runs are judged again.
  await db.insertInto('trust_marks').values(marks).execute()
  return [...new Set(targets.map((target) => target.run_id))]
}

async function findTargets(db: Database, options: TrustFlags) {
  const { run, date, list, answer } = options
  const named = [run, date, answer].filter((one) => one !== undefined)
  if (named.length !== 1 || (list !== undefined && date === undefined)) {
    throw new Misuse('expected one of --run N, --date YYYY-MM-DD [--list NAME] and --answer N...')
  }
  if (date !== undefined && !isDay(date)) {
    throw new Misuse(`expected --date in the form YYYY-MM-DD, got ${JSON.stringify(date)}`)
  }
  const answers = answer?.map((one) => countFlag('answer', one)) ?? []
  const targets = await db
    .selectFrom('runs')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .select('runs.id as run_id')
    .$if(answers.length > 0, (runs) =>
      runs
        .innerJoin('tasks', 'tasks.run_id', 'runs.id')
        .innerJoin('searches', 'searches.task_id', 'tasks.id')
        .where('searches.id', 'in', answers)
        .select('searches.id as search_id'),
    )
    .$if(run !== undefined, (runs) => runs.where('runs.id', '=', countFlag('run', run ?? '')))
    .$if(date !== undefined, (runs) => runs.where('runs.run_date', '=', date ?? ''))
    .$if(list !== undefined, (runs) => runs.where('lists.name', '=', list ?? ''))
    .where('runs.state', 'in', ['done', 'cancelled'])
    .execute()
  if (targets.length > 0) return targets
  throw new Misuse(`no finished runs match; ${npmRun('status')} lists the runs`)
}

/** Judges these runs again, along with later suspect runs of their lists, and rechecks later alerts. */
async function judgeAgain(db: Database, runs: readonly number[]): Promise<void> {
  const later = await db
    .selectFrom('runs')
    .innerJoin('runs as marked', 'marked.list_id', 'runs.list_id')
    .select(['runs.id', 'runs.suspect'])
    .distinct()
    .where('marked.id', 'in', runs)
    .whereRef('runs.id', '>', 'marked.id')
    .orderBy('runs.id')
    .execute()
  const condemned = later.filter(({ suspect }) => suspect).map(({ id }) => id)
  for (const run of await readRuns(db, [...runs, ...condemned]))
    await judgeEnded(db, run, { report: say })
  const ids = later.map(({ id }) => id)
  if (ids.length === 0) return
  await db.updateTable('night_health').set({ alerts_at: null }).where('run_id', 'in', ids).execute()
}

async function show(
  db: Database,
  { options }: TrustCall,
  wanted: readonly number[] | null,
): Promise<Exit> {
  const runs = await readQuarantine(db, wanted)
  const answers = wanted === null ? [] : await readQuarantined(db, wanted)
  const decisions = await readDecisions(db, wanted)
  if (options.json === true) {
    printJson({ runs, answers, decisions })
    return exits.done
  }
  if (runs.length === 0) print('Nothing is quarantined.')
  showRows(
    ['run', 'list', 'date', 'answers', 'why'],
    runs.map((one) => [
      ...[one.run, one.list, one.run_date, one.suspect ? 'all' : one.answers, one.reason],
    ]),
  )
  showRows(
    ['answer', 'run', 'query', 'score', 'why'],
    answers.map(({ answer, run, q, score, reason }) => [
      ...[answer, run, q, score?.toFixed(2) ?? '', reason],
    ]),
  )
  showRows(
    ['decision', 'run', 'answer', 'is', 'by', 'because'],
    decisions.map(({ id, run, answer, trusted, by, reason }) => [
      ...[id, run, answer ?? 'all', trusted ? 'trusted' : 'not trusted', by, reason],
    ]),
  )
  for (const { run, suspect, credits } of runs) {
    if (!suspect) continue
    const price = `about ${count(credits, 'credit')}`
    say(`to buy run ${run} again (${price}): ${npmRun('retry --')} --run ${run} --buy-again --yes`)
  }
  return exits.done
}

async function readQuarantine(db: Database, runs: readonly number[] | null) {
  return db
    .selectFrom('quarantine')
    .innerJoin('runs', 'runs.id', 'quarantine.run_id')
    .innerJoin('lists', 'lists.id', 'runs.list_id')
    .leftJoin('searches', 'searches.id', 'quarantine.search_id')
    .select(({ eb, fn }) => [
      'runs.id as run',
      'lists.name as list',
      'runs.run_date',
      'runs.suspect',
      fn.countAll<number>().as('answers'),
      fn.coalesce(fn.sum<number>('searches.credits_used'), sql.lit(0)).as('credits'),
      sql<string>`mode() within group (order by ${eb.ref('quarantine.reason')})`.as('reason'),
    ])
    .$if(runs !== null, (rows) => rows.where('runs.id', 'in', runs ?? []))
    .groupBy(['runs.id', 'lists.name'])
    .orderBy('runs.id', 'desc')
    .limit(50)
    .execute()
}

/** Reads the answers that were quarantined individually, highest score first. */
async function readQuarantined(db: Database, runs: readonly number[]) {
  return db
    .selectFrom('quarantine')
    .innerJoin('searches', 'searches.id', 'quarantine.search_id')
    .innerJoin('queries', 'queries.id', 'searches.query_id')
    .innerJoin('runs', 'runs.id', 'quarantine.run_id')
    .select([
      'quarantine.search_id as answer',
      'runs.id as run',
      'queries.q',
      'quarantine.score',
      'quarantine.reason',
    ])
    .where('runs.id', 'in', runs)
    .where('runs.suspect', '=', false)
    .orderBy('quarantine.score', (order) => order.desc().nullsFirst())
    .limit(50)
    .execute()
}

async function readDecisions(db: Database, runs: readonly number[] | null) {
  return db
    .selectFrom('trust_marks')
    .select(['id', 'run_id as run', 'search_id as answer', 'trusted', 'reason', 'made_by as by'])
    .select('made_at')
    .where('undone_at', 'is', null)
    .$if(runs !== null, (rows) => rows.where('run_id', 'in', runs ?? []))
    .orderBy('id', 'desc')
    .limit(50)
    .execute()
}

function showRows(heads: readonly string[], rows: Parameters<typeof formatTable>[1]): void {
  if (rows.length > 0) print(formatTable(heads, rows, { widest: 160 }))
}
