import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { addressProblems, maskPassword } from './address.ts'
import type { Cron } from './time/cron.ts'
import { BadSettings, unreadable } from './errors.ts'
import { root } from './root.ts'
import { Secret } from './secret.ts'
import { settings, type Name, type Value } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a value came from: what stands further left wins. */
export type SettingSource = 'flag' | 'environment' | '.env' | 'default'

export interface Config {
  /** Null: the bundled service on this machine. */
  readonly api: { readonly url: URL; readonly key: Secret } | null
  /** Null: the embedded Postgres under `home`. */
  readonly databaseUrl: string | null
  /** Null: BullMQ's Postgres backend. */
  readonly redisUrl: string | null
  readonly home: string
  /** Null: named after the API's host. */
  readonly account: string | null
  readonly creditFloor: number
  readonly concurrency: number
  /** Calls per second over all workers; null: as fast as the lanes go. */
  readonly rateLimit: number | null
  readonly timeoutMs: number
  readonly maxAgeMs: number
  readonly dailyBudget: number | null
  readonly unknown: 'retry' | 'hold'
  /** When the plan renews, in `zone`. */
  readonly renewal: Cron | null
  /** How often a stop for credit is tried by itself; null: never. */
  readonly probeEveryMs: number | null
  readonly leaseMs: number
  readonly stallMs: number
  readonly zone: string
  /** Null: no metrics, no health checks. */
  readonly metricsPort: number | null
  readonly webhook: URL | null
  /** What live keys of the search service find. */
  readonly upstream: 'local' | 'searxng' | 'mock'
  readonly searxngUrl: URL | null
  /** Where clients reach the search service; null: where it listens. */
  readonly publicUrl: URL | null
  /** Null: the dashboard of the search service opens on this machine only. */
  readonly servicePassword: Secret | null
  readonly keepQueriesMs: number
  readonly sources: ReadonlyMap<string, { readonly shown: string; readonly source: SettingSource }>
}

/** The environment of this process. Nothing else in the program reads it. */
export function processEnvironment(): Environment {
  return process.env
}

/** The folder where the person stood when the command was typed: npm moves to the project's own folder. */
export function callerFolder(env: Environment): string {
  return env['INIT_CWD'] ?? process.cwd()
}

// The address of a webhook is its own password.
const secretNames: readonly string[] = ['SEARCH_API_KEY', 'SERVICE_PASSWORD', 'MILL_WEBHOOK']

// A lease is renewed when a sixth of it is gone: what is left then must still cover a call, with room for a slow renewal.
const leasePerTimeout = 1.5

/** Flags over environment over `.env` over defaults; every problem is reported at once. */
export function readConfig(env: Environment, flags: Partial<Record<Name, string>> = {}): Config {
  const reader = new Reader(env, flags)
  const home = resolve(reader.value('MILL_HOME') ?? '')
  const config = {
    home,
    api: reader.api(),
    databaseUrl: reader.value('DATABASE_URL') ?? null,
    redisUrl: reader.value('REDIS_URL') ?? null,
    account: reader.value('MILL_ACCOUNT') ?? null,
    creditFloor: reader.value('MILL_CREDIT_FLOOR') ?? 0,
    concurrency: reader.value('MILL_CONCURRENCY') ?? 1,
    rateLimit: reader.value('MILL_RATE_LIMIT') ?? null,
    timeoutMs: reader.value('MILL_TIMEOUT_MS') ?? 0,
    maxAgeMs: reader.value('MILL_MAX_AGE') ?? 0,
    dailyBudget: reader.value('MILL_DAILY_BUDGET') ?? null,
    unknown: reader.value('MILL_UNKNOWN') ?? 'retry',
    renewal: reader.value('MILL_RENEWAL') ?? null,
    probeEveryMs: reader.value('MILL_PROBE_EVERY') ?? null,
    // Not a number: a lease that cannot be read is reported as such, and compared with nothing.
    leaseMs: reader.value('MILL_LEASE_MS') ?? Number.NaN,
    stallMs: reader.value('MILL_STALL_MS') ?? 0,
    zone: reader.value('MILL_ZONE') ?? 'UTC',
    metricsPort: reader.value('MILL_METRICS_PORT') ?? null,
    webhook: reader.value('MILL_WEBHOOK') ?? null,
    upstream: reader.value('UPSTREAM') ?? 'local',
    searxngUrl: reader.value('SEARXNG_URL') ?? null,
    publicUrl: reader.value('SERVICE_PUBLIC_URL') ?? null,
    servicePassword: reader.value('SERVICE_PASSWORD') ?? null,
    keepQueriesMs: reader.value('SERVICE_KEEP_QUERIES') ?? 0,
    sources: reader.sources,
  } satisfies Config
  reader.checkLease(config.leaseMs, config.timeoutMs)
  if (reader.problems.length > 0) throw new BadSettings(reader.problems)
  return config
}

class Reader {
  readonly problems: string[] = []
  readonly sources = new Map<string, { shown: string; source: SettingSource }>()
  readonly #layers: readonly (readonly [SettingSource, Environment])[]

  constructor(env: Environment, flags: Environment) {
    const file = join(root, '.env')
    const dotenv = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
    const fallbacks = Object.fromEntries(
      Object.entries(settings).map(([name, setting]) => [
        name,
        'fallback' in setting ? setting.fallback : undefined,
      ]),
    )
    this.#layers = [
      ['flag', flags],
      ['environment', env],
      ['.env', dotenv],
      ['default', fallbacks],
    ]
  }

  /** An empty value counts as unset: that is how shells and Compose files spell "nothing". */
  value<N extends Name>(name: N): Value<N> | undefined {
    const found = this.#find(name)
    if (found === undefined) {
      this.sources.set(name, { shown: '', source: 'default' })
      return undefined
    }
    const secret = secretNames.includes(name)
    const shown = secret ? new Secret(found.text).toString() : maskPassword(found.text)
    const got = secret ? new Secret(found.text).describe() : JSON.stringify(shown)
    this.sources.set(name, { shown, source: found.source })
    const result = settings[name].shape.safeParse(found.text)
    if (result.success) return result.data as Value<N>
    const expected = result.error.issues[0]?.message ?? 'another value'
    this.problems.push(`${name}: expected ${expected}, got ${got}; ${settings[name].hint}`)
    return undefined
  }

  api(): Config['api'] {
    const url = this.value('SEARCH_API_URL')
    const file = this.value('SEARCH_API_KEY_FILE')
    const own = this.value('SEARCH_API_KEY')
    const key = own ?? (file === undefined ? undefined : this.#readKeyFile(file))
    const problems = this.problems.length
    const keyGiven = own !== undefined || file !== undefined
    if (url === undefined && keyGiven && this.sources.get('SEARCH_API_URL')?.shown === '') {
      this.problems.push(
        'SEARCH_API_URL: expected an address, since a key is set, got nothing; it is not for us to guess whose key it is',
      )
    }
    if (url !== undefined && !keyGiven && this.sources.get('SEARCH_API_KEY')?.shown === '') {
      this.problems.push(
        'SEARCH_API_KEY: expected a key, since SEARCH_API_URL is set, got nothing; set it or SEARCH_API_KEY_FILE',
      )
    }
    if (url !== undefined) this.problems.push(...addressProblems(url))
    if (url === undefined || key === undefined || this.problems.length > problems) return null
    return { url, key: new Secret(key) }
  }

  checkLease(leaseMs: number, timeoutMs: number): void {
    const least = Math.ceil(timeoutMs * leasePerTimeout)
    if (Number.isNaN(leaseMs) || leaseMs >= least) return
    this.problems.push(
      `MILL_LEASE_MS: expected at least ${least}, half as much again as MILL_TIMEOUT_MS (${timeoutMs}), got ${leaseMs}; a lease must outlive a call and its storing`,
    )
  }

  #readKeyFile(file: string): string | undefined {
    try {
      const key = readFileSync(file, 'utf8').trim()
      if (settings.SEARCH_API_KEY.shape.safeParse(key).success) return key
      const got = key === '' ? 'nothing' : new Secret(key).describe()
      this.problems.push(`SEARCH_API_KEY_FILE: expected one key in ${file}, got ${got}`)
    } catch (cause) {
      const { message } = unreadable(file, cause, 'a folder; name the file')
      this.problems.push(`SEARCH_API_KEY_FILE: ${message}`)
    }
    return undefined
  }

  #find(name: string): { text: string; source: SettingSource } | undefined {
    for (const [source, layer] of this.#layers) {
      const text = layer[name]?.trim()
      if (text !== undefined && text !== '') return { text, source }
    }
    return undefined
  }
}

/** A path as the person meant it who typed it. */
export function callerPath(env: Environment, path: string): string {
  return isAbsolute(path) ? path : resolve(callerFolder(env), path)
}
