// The doctor command: checks this machine, the settings and all servers without spending credits.

import { npmRun } from '../../base/cli/commands.ts'
import { statfsSync } from 'node:fs'
import { type Call, print, printJson } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { type Config, readConfig } from '../../base/config.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { openHome } from '../../base/embedded/state.ts'
import { type Exit, exits, Misuse, reasonOf, Unreachable, unreadable } from '../../base/errors.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { type Mill, openMill } from '../../core/mill.ts'
import { loadSchedules, schedulesFile } from '../../core/scheduler/schedule.ts'

const mostClockMs = 5_000
const answerWithinMs = 10_000

/** Prints one line per check; the exit code is 1 if any check failed. */
export async function runDoctor({ options, env, closers }: Call): Promise<Exit> {
  const config = readConfig(env)
  const findings: { readonly check: string; readonly ok: boolean; readonly said: string }[] = []
  const examine = async (check: string, look: () => string | Promise<string>) => {
    const [ok, said] = await Promise.resolve()
      .then(look)
      .then((found) => [true, found] as const)
      .catch((error: unknown) => [false, scrubbedReason(error)] as const)
    findings.push({ check, ok, said })
    if (options.json !== true) print(`${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(9)}  ${said}`)
  }
  await examine('node', checkNode)
  await examine('settings', () => describeSettings(config))
  await examine('disk', () => checkDisk(openHome(config.home)))
  let mill: Mill | null = null
  await examine('database', async () => {
    mill = await openMill({ config, closers, say: () => undefined, name: 'doctor', connections: 1 })
    return checkDatabase(mill)
  })
  const opened = mill as Mill | null
  if (opened !== null) {
    await examine('queue', async () => `${(await opened.queue()).backend} answers`)
    await examine('schedules', () => checkSchedules(opened))
  }
  await examine('api', () => checkApi(config))
  await examine('webhook', () =>
    config.webhook === null
      ? 'not set, so no notices are sent when a run ends or the credit floor is reached'
      : `${config.webhook.url.host}; ${npmRun('notify --')} --test sends a test notice`,
  )
  const ok = findings.every((finding) => finding.ok)
  if (options.json === true) printJson({ ok, checks: findings })
  return ok ? exits.done : exits.failures
}

function checkNode(): string {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return process.versions.node
  throw new Misuse(
    `expected Node 20.19 or newer, got ${process.versions.node}; install a newer version`,
  )
}

function describeSettings({ sources }: Config): string {
  const set = [...sources].filter(([, { source }]) => source !== 'default')
  if (set.length === 0) return 'all have their default values'
  return set.map(([name, { shown, source }]) => `${name}=${shown} (${source})`).join(', ')
}

function checkDisk(home: string): string {
  const { bavail, bsize } = statfsSync(home)
  const free = `${((bavail * bsize) / 1e9).toFixed(1)} GB`
  if (bavail * bsize >= 1e9) return `${home} has ${free} free`
  throw new Misuse(
    `expected at least 1 GB free in ${home}, got ${free}; free up space, or set MILL_HOME`,
  )
}

/** Checks the database server. The URL, schema and login were already checked when the database was opened. */
async function checkDatabase({ db, config }: Mill): Promise<string> {
  const sent = Date.now()
  const { rows } = await sql<{ version: number; encoding: string; now: Date; makes: boolean }>`
    select
      current_setting('server_version_num')::integer as version,
      current_setting('server_encoding') as encoding,
      clock_timestamp() as now,
      has_schema_privilege('public', 'create') as makes`.execute(db)
  const { version, encoding, now, makes } = only(rows)
  const isNear = now.getTime() >= sent - mostClockMs && now.getTime() <= Date.now() + mostClockMs
  const checks = [
    [version >= 150_000, `expected PostgreSQL 15 or newer, got ${version}`],
    [
      encoding === 'UTF8',
      `expected a database with UTF8 encoding, got ${encoding}; create a database with UTF8`,
    ],
    [
      makes,
      'expected a login that may create tables, got a login without this right; grant it CREATE on schema public',
    ],
    [
      isNear,
      `expected the database's clock to match this machine's clock, got ${now.toISOString()}; synchronise both with a time server`,
    ],
  ] as const
  const problems = checks.flatMap(([ok, problem]) => (ok ? [] : [problem]))
  if (problems.length > 0) throw new Misuse(problems.join('; '))
  const where = config.databaseUrl === null ? 'on this machine' : 'at DATABASE_URL'
  return `PostgreSQL ${Math.floor(version / 10_000)} ${where}; its tables are up to date`
}

async function checkSchedules({ db, config }: Mill): Promise<string> {
  try {
    const file = await loadSchedules(db, { file: schedulesFile, zone: config.zone })
    const [first] = file.refusals
    if (first === undefined)
      return `${count(file.schedules.length, 'schedule')} in ${schedulesFile}`
    throw new Misuse(`line ${first.line} of ${schedulesFile}: ${first.problem}`)
  } catch (cause) {
    if (cause instanceof Misuse) throw cause
    throw unreadable(schedulesFile, cause, 'a folder; remove it')
  }
}

/** Sends a request without a key, which costs nothing. */
async function checkApi({ api }: Config): Promise<string> {
  if (api === null) return 'not set, so answers come from the bundled service (sandbox)'
  const signal = AbortSignal.timeout(answerWithinMs)
  const asked = fetch(new URL('/v1/search', api.url), { signal, redirect: 'manual' })
  const answer = await asked.catch((cause: unknown) => {
    throw new Unreachable(
      `expected ${api.url.host} to respond, got ${reasonOf(cause)}; check SEARCH_API_URL`,
      { cause },
    )
  })
  await answer.body?.cancel()
  if (answer.status < 500) {
    return `${api.url.host} responds; the first call checks the key, because a test request may cost credits`
  }
  throw new Misuse(
    `expected ${api.url.host} to be available, got status ${answer.status}; try again later`,
  )
}
