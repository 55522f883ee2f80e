// The archive command: moves old days to files, restores them, and checks the files.

import type { PoolClient } from 'pg'
import { npmRun } from '../../base/cli/commands.ts'
import { type Call, printJson, say, addYesHint } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { type Exit, exits, Misuse, reasonOf } from '../../base/errors.ts'
import { readDuration } from '../../base/time/zone.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { finishDays, readDaysToFinish } from '../../core/nights/finish.ts'
import { archiveDay, bringBack, checkArchive } from './day.ts'
import {
  type Archived,
  countLeaving,
  gatherKept,
  holdArchive,
  readArchivedDays,
  readLeavingDays,
} from './days.ts'
import { type ParquetEngine, withEngine } from './engine.ts'
import { readDayRange } from './load.ts'
import { ArchiveFolder, archivePath } from './folder.ts'

interface ArchiveOptions {
  readonly older?: string
  readonly to?: string
  readonly back?: string
  readonly check?: true
  readonly yes?: boolean
}

export async function archive({ options, env, closers }: Call<ArchiveOptions>): Promise<Exit> {
  const request = readRequest(options)
  const config = readConfig(env)
  const reading = request.kind === 'check'
  const mill = await openMill({ config, closers, say, name: 'archive', connections: 2, reading })
  const folder = options.to === undefined ? undefined : archivePath(env, options.to)
  if (request.kind === 'check') return checkDays(mill, folder, options.json === true)
  const client = await holdArchive(mill.pool)
  try {
    return await withEngine((engine) => {
      const movers = { mill, client, engine, options }
      return request.kind === 'back'
        ? returnDays(movers, request, folder)
        : moveDays(movers, request.olderMs, folder ?? '')
    })
  } finally {
    client.release(true)
  }
}

/** Reads the flags, and rejects contradictory flags before opening anything. */
function readRequest({ older, to, back, check }: ArchiveOptions) {
  const asked = [older, back, check].filter((flag) => flag !== undefined).length
  if (asked !== 1) {
    throw new Misuse(
      `expected one of --older, --back and --check, got ${asked === 0 ? 'none' : 'several'}; run: ${npmRun('archive --')} --older 400d --to FOLDER`,
    )
  }
  if (check === true) return { kind: 'check' } as const
  if (back !== undefined) return { kind: 'back', ...readDayRange('back', back) } as const
  const olderMs = readDuration(older ?? '')
  if (olderMs === null) {
    throw new Misuse(`expected --older to be an age like 400d, got ${JSON.stringify(older)}`)
  }
  if (to === undefined || to === '') {
    throw new Misuse('expected --to FOLDER, got nothing; add the flag and a folder')
  }
  return { kind: 'leave', olderMs } as const
}

interface Movers {
  readonly mill: Mill
  readonly client: PoolClient
  readonly engine: ParquetEngine
  readonly options: Call<ArchiveOptions>['options']
}

async function moveDays(
  { mill: { db, installation }, client, engine, options: { yes = false, json } }: Movers,
  olderMs: number,
  path: string,
): Promise<Exit> {
  const folder = new ArchiveFolder(path)
  const { days, kept } = await readLeavingDays(db, olderMs)
  const gone: Archived[] = []
  if (yes) {
    await folder.claim(installation)
    await keepSums(db, days)
  }
  await gatherKept(client, days)
  for (const day of days) {
    const archived = await (yes
      ? archiveDay({ client, folder, engine, installation }, day)
      : countLeaving(client, day))
    if (archived === null) continue
    gone.push(archived)
    say(dayLine(archived, !yes))
  }
  if (kept !== null) {
    say(
      `${kept.day} and later days are kept because run ${kept.run} of that day is still open; to cancel it: ${npmRun('cancel --')} --run ${kept.run} --yes`,
    )
  }
  if (json === true) printJson({ dry_run: !yes, folder: path, days: gone, kept })
  say(sumLine(gone, path, !yes))
  return exits.done
}

/** Stores the sums of days before the days are archived. Trends need the sums, which can't be computed afterwards. */
async function keepSums(db: Database, days: readonly string[]): Promise<void> {
  const last = days.at(-1)
  if (last === undefined) return
  const open = (await readDaysToFinish(db)).filter((day) => day <= last)
  if (open.length > 0) await finishDays(db, open.length)
}

async function returnDays(
  { mill: { db, installation }, client, engine, options: { yes = false, json } }: Movers,
  { since, until }: ReturnType<typeof readDayRange>,
  moved: string | undefined,
): Promise<Exit> {
  const days = await readArchivedDays(db, { since, until })
  const done: { run_date: string; part: number; rows: number }[] = []
  // Restores the newest day first, so that archived days are always older than all days in the database.
  for (const day of days.toReversed()) {
    const folder = new ArchiveFolder(moved ?? day.folder)
    const { run_date, part } = day
    if (!yes) {
      done.push({ run_date, part, rows: day.moved_rows })
      continue
    }
    const { rows, files } = await bringBack({ client, engine, folder, installation }, day)
    done.push({ run_date, part, rows })
    say(`${run_date}: ${rows} rows were restored`)
    // Files that remain are harmless, because the next archive of the day would replace them.
    await folder.remove(files).catch((error: unknown) => {
      say(`${run_date}: the archive files could not be removed: ${reasonOf(error)}`)
    })
  }
  if (json === true) printJson({ dry_run: !yes, days: done })
  const rows = done.reduce((sum, day) => sum + day.rows, 0)
  const are = yes ? 'were restored' : `would be restored: ${addYesHint}`
  say(`${rows} rows of ${since}..${until} ${are}`)
  return exits.done
}

async function checkDays(
  { db, installation }: Mill,
  folder: string | undefined,
  json: boolean,
): Promise<Exit> {
  const days = await readArchivedDays(db)
  const checked = await checkArchive(days, { folder, installation, report: say })
  const bad = checked.problems.length
  if (json) printJson({ ok: bad === 0, ...checked })
  say(
    `${checked.days} days, ${checked.files} files, ${checked.rows} rows: ${bad === 0 ? 'all unchanged' : `${bad} days have changed`}`,
  )
  return bad === 0 ? exits.done : exits.failures
}

function dayLine({ run_date: day, part, answers, rows, bytes }: Archived, dry: boolean) {
  const later = part === 1 ? '' : `, part ${part}`
  const what = `${answers} answers, ${rows} rows`
  return dry
    ? `${day}${later}: ${what} would be archived`
    : `${day}${later}: ${what} archived, ${megabytes(bytes)} of files`
}

function sumLine(days: readonly Archived[], folder: string, dry: boolean): string {
  if (days.length === 0) return 'no days to archive; the tables contain no days that are old enough'
  const rows = days.reduce((sum, day) => sum + day.rows, 0)
  const bytes = days.reduce((sum, day) => sum + day.bytes, 0)
  return dry
    ? `${days.length} days with ${rows} rows would be archived to ${folder}: ${addYesHint}`
    : `${days.length} days with ${rows} rows are in ${folder}, ${megabytes(bytes)}`
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
