// The forget command: counts the rows that would be deleted, asks for confirmation, and deletes the rows.

import { npmRun } from '../../base/cli/commands.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { count, formatTable } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { type Exit, exits, Misuse } from '../../base/errors.ts'
import { canonicalText } from '../../base/query.ts'
import { openMill } from '../../core/mill.ts'
import { expectList } from '../../core/runs/run.ts'
import {
  aloneForgetting,
  countSubject,
  finishForgetting,
  forgetSubject,
  sealList,
} from './forget.ts'
import {
  type Blockers,
  countLeft,
  countShared,
  findHeldQueries,
  findLivingList,
  type Forgettable,
  oneOf,
  readBlockers,
  relatedTo,
} from './subject.ts'
import type { DeletedRows } from './texts.ts'

interface ForgetFlags {
  readonly list?: string
  readonly query?: string
  readonly yes?: true
  readonly json?: true
}

export async function runForget({ options, env, closers }: Call<ForgetFlags>): Promise<Exit> {
  checkFlags(options)
  const { db } = await openMill({ config: readConfig(env), closers, say, name: 'forget' })
  if (options.yes !== true) return preview(db, options)
  const ended = await aloneForgetting(db, () => forget(db, options))
  if (ended !== null) return ended
  throw new Misuse('another forget command is running; wait until it has finished')
}

async function preview(db: Database, flags: ForgetFlags): Promise<Exit> {
  const left = await countLeft(db)
  if (left.queries + left.words > 0) {
    say(
      'an earlier forget command was interrupted; the next forget command with --yes completes it first',
    )
  }
  const found = (await findSubject(db, flags)) ?? (await refuseUnknown(db, flags))
  const { kind } = found.subject
  const obstacle = await blockerOf(db, found.subject)
  const gone = await countSubject(db, found.subject)
  const notes = await notesOf(db, found.subject)
  if (flags.json === true) {
    printJson({ kind, subject: found.said, dry_run: true, obstacle, tables: filled(gone), notes })
    return exits.done
  }
  print(
    `${found.said}: nothing was changed. At most the following rows would be deleted or emptied:`,
  )
  for (const { q, location, hl, gl, num, device } of found.queries) {
    print(`  ${[JSON.stringify(q), location, hl, gl, num, device].filter(Boolean).join(', ')}`)
  }
  showTables(gone)
  for (const note of notes) print(`- ${note}`)
  say(obstacle ?? 'to delete the data, add --yes; deleted data can be restored only from a backup')
  return exits.done
}

async function forget(db: Database, flags: ForgetFlags): Promise<Exit> {
  const left = await countLeft(db)
  const resumed = left.queries + left.words > 0
  if (resumed) {
    say('completing an earlier forget command that was interrupted')
    await finishForgetting(db, showProgress())
  }
  const found = await findSubject(db, flags)
  if (found === null) {
    if (!resumed) return refuseUnknown(db, flags)
    say('there is no other data to forget')
    return exits.done
  }
  const { subject, said } = found
  const { kind } = subject
  const obstacle = await blockerOf(db, subject)
  if (obstacle !== null) throw new Misuse(obstacle)
  const gone = await forgetSubject(db, subject, showProgress())
  if (kind === 'list' && !(await sealList(db, subject.list))) {
    throw new Misuse(`${said} was read again in the meantime; run the same command again`)
  }
  if (flags.json === true) printJson({ kind, subject: said, dry_run: false, tables: filled(gone) })
  else showTables(gone)
  say(`${said} was forgotten; ${npmRun('verify')} checks the ledger`)
  return exits.done
}

async function blockerOf(db: Database, subject: Forgettable): Promise<string | null> {
  const { days, since, until } = await awayDaysOf(db, subject)
  if (days > 0) {
    return `expected no trace of it in the archive, got ${count(days, 'day')} that may contain it; restore them, run forget, and archive them again. To restore them: ${npmRun('archive --')} --back ${since}..${until} --yes`
  }
  return blockerSentence(subject, await readBlockers(db, subject))
}

function showProgress(): (gone: DeletedRows) => void {
  let told = Date.now()
  return (gone) => {
    if (Date.now() - told < 5_000) return
    told = Date.now()
    say(`${count(gone['searches'] ?? 0, 'answer')} so far`)
  }
}

function filled(gone: DeletedRows): DeletedRows {
  return Object.fromEntries(Object.entries(gone).filter(([, rows]) => rows > 0))
}

function showTables(gone: DeletedRows): void {
  const rows = Object.entries(filled(gone)).toSorted(([one], [other]) => one.localeCompare(other))
  if (rows.length === 0) print('nothing')
  else print(formatTable(['table', 'rows'], rows, { right: ['rows'] }))
}

/** Explains why the subject can't be forgotten yet, and what to do; null if it can be forgotten. */
export function blockerSentence(subject: Forgettable, way: Blockers): string | null {
  const [run, ...others] = way.runs
  const what = subject.kind === 'list' ? `list ${subject.list.name}` : 'the query'
  if (run !== undefined) {
    const more = others.length === 0 ? '' : ` and ${count(others.length, 'other')}`
    return `expected no open run with ${what}, got run ${run}${more}; finish the run (${npmRun('work --')} --drain), or cancel it: ${npmRun('cancel --')} --run ${run} --yes`
  }
  if (way.calls > 0) {
    return `expected no recent calls for ${what}, got ${count(way.calls, 'call')} in flight or lost less than 10 minutes ago; try again in 10 minutes`
  }
  const [schedule] = way.schedules
  if (schedule === undefined) return null
  return `the schedule ${schedule} would read ${what} again; remove its line from the schedules file, or set "on" to no in that line, and try again after the scheduler has read the file (${npmRun('nightly --')} --show)`
}

/** Describes data that remains in the database, and data that this command can't reach. */
async function notesOf(db: Database, subject: Forgettable): Promise<readonly string[]> {
  const shared = subject.kind === 'list' ? await countShared(db, subject.list) : 0
  const kept = `${shared} of its queries are also in other lists and are kept, with all their answers`
  return [
    ...(shared > 0 ? [kept] : []),
    'the ledger keeps every call and run with its cost, but without the query',
    `the sums of finished days are deleted, and are computed again by ${npmRun('nightly')} or ${npmRun('rebuild --')} --days`,
    'a query that is enqueued again counts as new and is bought again; if a list file still contains the query, the query is added again when the file is read',
    'remove these yourself: list and settings files, exports, reports, backups, copies of the archive, logs, MILL_HOME/spool on each host, tables that analysts created in the scratch schema, and data kept by the search service',
  ]
}

function checkFlags({ list, query }: ForgetFlags): void {
  if ((list === undefined) === (query === undefined)) {
    throw new Misuse(
      `expected one of --list NAME and --query "text", got ${list === undefined ? 'none' : 'both'}`,
    )
  }
}

/** Finds the list or query named by the flags, with a description and its queries; null if it does not exist. */
export async function findSubject(db: Database, flags: ForgetFlags) {
  checkFlags(flags)
  if (flags.list !== undefined) {
    const list = await findLivingList(db, flags.list)
    if (list === null) return null
    const subject: Forgettable = { kind: 'list', list }
    return { subject, said: `list ${flags.list}`, queries: [] }
  }
  const q = canonicalText(flags.query ?? '')
  const queries = await findHeldQueries(db, q)
  if (queries.length === 0) return null
  const subject: Forgettable = { kind: 'query', q, ids: queries.map(({ id }) => id) }
  return { subject, said: `query ${JSON.stringify(q)}`, queries }
}

async function refuseUnknown(db: Database, flags: ForgetFlags): Promise<never> {
  if (flags.list !== undefined) {
    await expectList(db, flags.list)
    throw new Misuse(
      `expected --list to name an existing list, got ${flags.list}, which has been forgotten`,
    )
  }
  throw new Misuse(
    `expected --query to be a query in a list, spelled as in the list, got ${JSON.stringify(flags.query)}; ${npmRun('sql --')} keyword --show find --word "…" finds it`,
  )
}

/** Finds archived days that may contain the subject. The files of these days can't be edited in place. */
async function awayDaysOf(db: Database, subject: Forgettable) {
  return db
    .selectFrom('archived_days as a')
    .where((eb) => {
      const runs = eb.selectFrom('runs as r').whereRef('r.run_date', '=', 'a.run_date')
      if (subject.kind === 'list') return eb.exists(runs.where('r.list_id', '=', subject.list.id))
      const tasks = runs.innerJoin('tasks as t', 't.run_id', 'r.id')
      return eb.or([
        eb.exists(tasks.where(oneOf('t.query_id', subject.ids))),
        // If answers in the database suggest the text, answers from any archived day may suggest it, too.
        eb.exists(relatedTo(subject.q)),
      ])
    })
    .select(({ fn }) => [
      fn.count<number>('a.run_date').distinct().as('days'),
      fn.min<string | null>('a.run_date').as('since'),
      fn.max<string | null>('a.run_date').as('until'),
    ])
    .executeTakeFirstOrThrow()
}
