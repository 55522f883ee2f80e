// The health command: checks the health of a running worker or scheduler, for container probes.

import { parseUrl } from '../../base/address.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { type Config, readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse, reasonOf, Unreachable } from '../../base/errors.ts'

interface HealthFlags {
  readonly ready?: true
  readonly tables?: true
  readonly url?: string
}

/** Longest wait for a reply. The wait is short, because container probes run every few seconds. */
const patienceMs = 4_000
const mostSaid = 500

export async function runHealth(call: Call<HealthFlags>): Promise<Exit> {
  const { options } = call
  const config = readConfig(call.env)
  const address = addressOf(options, config)
  const said = address === null ? await askTables(call, config) : await askProcess(address)
  if (options.json === true) printJson({ ok: true, asked: address?.href ?? 'tables', said })
  else print(said)
  return exits.done
}

/** Returns the URL of the process to check; null to check the database instead. */
function addressOf({ url, ready, tables }: HealthFlags, { metricsHost, metricsPort }: Config) {
  if (tables === true && (ready === true || url !== undefined)) {
    throw new Misuse(
      `expected either --tables or ${ready === true ? '--ready' : '--url'}, got both; omit one of them`,
    )
  }
  if (url !== undefined) {
    const parsed = /^https?:\/\//.test(url) ? parseUrl(url) : null
    if (parsed !== null) return parsed
    throw new Misuse(
      `expected --url to be an address like http://127.0.0.1:8787/healthz, got ${JSON.stringify(url)}`,
    )
  }
  if (tables === true) return null
  if (metricsPort !== null) {
    // A process that listens on all addresses is reached through the loopback address.
    const host = metricsHost === '0.0.0.0' ? '127.0.0.1' : metricsHost
    return new URL(`http://${host}:${metricsPort}/${ready === true ? 'readyz' : 'livez'}`)
  }
  if (ready !== true) return null
  throw new Misuse(
    'expected MILL_METRICS_PORT with --ready, got none; set it for both the worker and this command, or check the tables with --tables',
  )
}

async function askProcess(address: URL): Promise<string> {
  const signal = AbortSignal.timeout(patienceMs)
  const [answer, text] = await fetch(address, { signal, redirect: 'error' })
    .then(async (found) => [found, await found.text()] as const)
    .catch((error: unknown) => {
      throw new Unreachable(
        `expected a response from ${address.href} within ${patienceMs / 1000} s, got ${reasonOf(error)}; check that the process is running with this port as MILL_METRICS_PORT`,
      )
    })
  const said = text.slice(0, mostSaid).trim()
  if (answer.ok) return said
  throw new Unreachable(
    `expected ${address.href} to report a healthy process, got ${answer.status}: ${said}`,
  )
}

/** Opens the database, as every command does, to check that it is reachable and up to date. Starts no service. */
async function askTables({ closers }: Call<HealthFlags>, config: Config): Promise<string> {
  const [{ openMill }, { postgresStatus }, { countLiveWorkers }] = await Promise.all([
    import('../../core/mill.ts'),
    import('../../base/embedded/postgres.ts'),
    import('../../core/runs/waits.ts'),
  ])
  if (config.databaseUrl === null && !(await postgresStatus(config.home)).running) {
    throw new Unreachable(
      'expected a database, got none: DATABASE_URL is not set, and no PostgreSQL is running for this folder',
    )
  }
  const { db } = await openMill({ config, closers, say, name: 'health', reading: true })
  return `the tables match this release; ${count(await countLiveWorkers(db), 'live worker')}`
}
