import { isAbsolute, resolve } from 'node:path'
import type { BucketAccess } from './bucket.ts'
import type { Cron } from './time/cron.ts'
import { BadSettings } from './errors.ts'
import { SettingsReader, type Webhook } from './reading.ts'
import type { Secret } from './secret.ts'
import type { Name } from './settings.ts'
import type { SettingSource } from './unknown-settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Config {
  /** Null: the bundled service on this machine. */
  readonly api: { readonly url: URL; readonly key: Secret } | null
  /** The file that its key was read from; null: it came from elsewhere. */
  readonly keyFile: string | null
  /** Null: the embedded Postgres under `home`. */
  readonly databaseUrl: string | null
  /** Where commands of analysts read; null: where everything is written. */
  readonly replicaUrl: string | null
  /** Whom questions of analysts are asked as; null: the role that may only read, as whom the user of `databaseUrl` acts. */
  readonly analystUrl: string | null
  /** Null: BullMQ's Postgres backend. */
  readonly redisUrl: string | null
  readonly home: string
  /** Null: named after the API's host. */
  readonly account: string | null
  readonly creditFloor: number
  readonly concurrency: number
  /** Calls per second over all workers; null: as fast as the lanes go. */
  readonly rateLimit: number | null
  /** Calls in flight over all workers; null: as many as there are lanes. */
  readonly mostInFlight: number | null
  readonly timeoutMs: number
  readonly maxAgeMs: number
  readonly dailyBudget: number | null
  readonly monthlyBudget: number | null
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
  /** Null: nobody is told. */
  readonly webhook: Webhook | null
  /** Open work that no worker lives for is told of after this; 0: never. */
  readonly unattendedMs: number
  /** How buckets of the archive are asked. */
  readonly bucket: BucketAccess
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

/** Flags over environment over `.env` over defaults; every problem is reported at once. */
export function readConfig(env: Environment, flags: Partial<Record<Name, string>> = {}): Config {
  const reader = new SettingsReader(env, flags)
  const home = resolve(reader.value('MILL_HOME') ?? '')
  const config = {
    home,
    api: reader.api(),
    keyFile: reader.keyFile,
    databaseUrl: reader.value('DATABASE_URL') ?? null,
    replicaUrl: reader.value('MILL_REPLICA_URL') ?? null,
    analystUrl: reader.value('MILL_ANALYST_URL') ?? null,
    redisUrl: reader.value('REDIS_URL') ?? null,
    account: reader.value('MILL_ACCOUNT') ?? null,
    creditFloor: reader.value('MILL_CREDIT_FLOOR') ?? 0,
    concurrency: reader.value('MILL_CONCURRENCY') ?? 1,
    rateLimit: reader.value('MILL_RATE_LIMIT') ?? null,
    mostInFlight: reader.value('MILL_MAX_IN_FLIGHT') ?? null,
    timeoutMs: reader.value('MILL_TIMEOUT_MS') ?? 0,
    maxAgeMs: reader.value('MILL_MAX_AGE') ?? 0,
    dailyBudget: reader.value('MILL_DAILY_BUDGET') ?? null,
    monthlyBudget: reader.value('MILL_MONTHLY_BUDGET') ?? null,
    unknown: reader.value('MILL_UNKNOWN') ?? 'retry',
    renewal: reader.value('MILL_RENEWAL') ?? null,
    probeEveryMs: reader.value('MILL_PROBE_EVERY') ?? null,
    // Not a number: a lease that cannot be read is reported as such, and compared with nothing.
    leaseMs: reader.value('MILL_LEASE_MS') ?? Number.NaN,
    stallMs: reader.value('MILL_STALL_MS') ?? 0,
    zone: reader.value('MILL_ZONE') ?? 'UTC',
    metricsPort: reader.value('MILL_METRICS_PORT') ?? null,
    webhook: reader.webhook(),
    unattendedMs: reader.value('MILL_UNATTENDED') ?? 0,
    bucket: reader.bucket(),
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

/** Refuses names that are no settings, for commands that read none; then with every other problem of the settings. */
export function refuseUnknownSettings(env: Environment): void {
  if (new SettingsReader(env, {}).problems.length > 0) readConfig(env)
}

/** A path as the person meant it who typed it. */
export function callerPath(env: Environment, path: string): string {
  return isAbsolute(path) ? path : resolve(callerFolder(env), path)
}
