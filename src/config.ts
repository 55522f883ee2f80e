import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { z } from 'zod'
import { BadSettings } from './errors.ts'
import { root } from './root.ts'
import { Secret } from './secret.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where a value came from: what stands further left wins. */
export type Source = 'flag' | 'environment' | '.env' | 'default'

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
  /** Cron of the plan's renewal, in `zone`. */
  readonly renewal: string | null
  readonly leaseMs: number
  readonly stallMs: number
  readonly zone: string
  /** Null: no metrics, no health checks. */
  readonly metricsPort: number | null
  readonly webhook: URL | null
  /** What live keys of the search service find. */
  readonly upstream: 'local' | 'searxng' | 'mock'
  readonly searxngUrl: URL | null
  readonly sources: ReadonlyMap<string, { readonly shown: string; readonly source: Source }>
}

/** The environment of this process. Nothing else in the program reads it. */
export function processEnvironment(): Environment {
  return process.env
}

/** The folder where the person stood when the command was typed: npm moves to the project's own folder. */
export function callerFolder(env: Environment): string {
  return env['INIT_CWD'] ?? process.cwd()
}

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Reads `12h`, `90s`, `30d` or a plain `0`. Null when the text is no duration. */
export function readDuration(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(text.trim())
  if (match === null) return /^0+$/.test(text.trim()) ? 0 : null
  return Math.round(Number(match[1]) * (units[match[2] ?? ''] ?? Number.NaN))
}

function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${least} up`
      : `a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^-?\d+$/, { error: expected })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error: expected })
}

function address(protocols: readonly string[], example: string) {
  const expected = `an address like ${example}`
  return z
    .string()
    .refine((text) => URL.canParse(text), { error: expected })
    .refine((text) => !URL.canParse(text) || protocols.includes(new URL(text).protocol), {
      error: expected,
    })
}

const fiveFields = 'a cron pattern of five fields, like "0 0 1 * *"'

// One entry a setting: its shape, its default as a person would type it, and what to do when it is wrong.
const settings = {
  SEARCH_API_URL: {
    shape: address(['http:', 'https:'], 'https://api.example.com').transform(
      (text) => new URL(text),
    ),
    hint: 'give the base address, without /v1/search',
  },
  SEARCH_API_KEY: {
    // A line break inside would end the header; fetch libraries print such a key in their own error.
    shape: z.string().regex(/^[\x21-\x7e]+$/, { error: 'one word of printable ASCII characters' }),
    hint: 'copy the key again from where it was issued',
  },
  SEARCH_API_KEY_FILE: { shape: z.string(), hint: 'name a readable file that holds the key' },
  DATABASE_URL: {
    shape: address(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/name'),
    hint: 'leave it unset for the embedded Postgres',
  },
  REDIS_URL: {
    shape: address(['redis:', 'rediss:'], 'redis://127.0.0.1:6379'),
    hint: 'leave it unset to queue on Postgres',
  },
  MILL_HOME: {
    shape: z.string(),
    hint: 'name a folder that can be written',
    fallback: join(root, '.querymill'),
  },
  MILL_ACCOUNT: { shape: z.string(), hint: 'any name; workers that share it share one balance' },
  MILL_CREDIT_FLOOR: { shape: whole(0), hint: 'credits that must stay', fallback: '100' },
  MILL_CONCURRENCY: { shape: whole(1, 1000), hint: 'calls in flight per worker', fallback: '8' },
  MILL_RATE_LIMIT: {
    shape: z
      .string()
      .regex(/^\d+(\.\d+)?$/, { error: 'a number above 0' })
      .transform(Number)
      .refine((value) => value > 0, { error: 'a number above 0' }),
    hint: 'calls per second over all workers; leave it unset for no limit',
  },
  MILL_TIMEOUT_MS: {
    shape: whole(1, 600_000),
    hint: 'milliseconds for one whole call',
    fallback: '30000',
  },
  MILL_MAX_AGE: {
    shape: z.string().transform((text, context) => {
      const value = readDuration(text)
      if (value === null)
        context.addIssue({ code: 'custom', message: 'a duration like 12h, 90m or 0' })
      return value ?? 0
    }),
    hint: 'an answer younger than this is reused; 0 buys all',
    fallback: '12h',
  },
  MILL_DAILY_BUDGET: { shape: whole(1), hint: 'credits per day; leave it unset for no limit' },
  MILL_UNKNOWN: {
    shape: z.enum(['retry', 'hold'], { error: '"retry" or "hold"' }),
    hint: 'hold: never buy again what may have been charged',
    fallback: 'retry',
  },
  MILL_RENEWAL: {
    shape: z
      .string()
      .refine((text) => text.trim().split(/\s+/).length === 5, { error: fiveFields }),
    hint: 'when the plan renews; leave it unset if you do not know',
  },
  MILL_LEASE_MS: {
    shape: whole(500),
    hint: 'longer than a call and its storing',
    fallback: '90000',
  },
  MILL_STALL_MS: {
    shape: whole(1000),
    hint: 'a drain that only ever is told to slow down ends after this',
    fallback: '600000',
  },
  MILL_ZONE: {
    shape: z.string().refine(isZone, { error: 'a time zone like Europe/Berlin' }),
    hint: 'the zone of run dates',
    fallback: 'UTC',
  },
  MILL_METRICS_PORT: { shape: whole(0, 65_535), hint: 'leave it unset for no metrics' },
  UPSTREAM: {
    shape: z.enum(['local', 'searxng', 'mock'], { error: '"local", "searxng" or "mock"' }),
    hint: 'what live keys of the search service find',
    fallback: 'local',
  },
  SEARXNG_URL: {
    shape: address(['http:', 'https:'], 'http://127.0.0.1:8080').transform((text) => new URL(text)),
    hint: 'the SearXNG behind the search service, for UPSTREAM=searxng',
  },
  MILL_WEBHOOK: {
    shape: address(['http:', 'https:'], 'https://chat.example.com/hook').transform(
      (text) => new URL(text),
    ),
    hint: 'leave it unset to tell nobody',
  },
} as const

type Name = keyof typeof settings
type Value<N extends Name> = z.output<(typeof settings)[N]['shape']>
const secretNames: readonly string[] = ['SEARCH_API_KEY']

/** The names of all settings, in the order in which they are shown. */
export const settingNames = Object.keys(settings)

/** True for a name that the platform's own table of time zones knows. */
export function isZone(zone: string): boolean {
  if (zone === '') return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

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
    leaseMs: reader.value('MILL_LEASE_MS') ?? 0,
    stallMs: reader.value('MILL_STALL_MS') ?? 0,
    zone: reader.value('MILL_ZONE') ?? 'UTC',
    metricsPort: reader.value('MILL_METRICS_PORT') ?? null,
    webhook: reader.value('MILL_WEBHOOK') ?? null,
    upstream: reader.value('UPSTREAM') ?? 'local',
    searxngUrl: reader.value('SEARXNG_URL') ?? null,
    sources: reader.sources,
  } satisfies Config
  if (config.leaseMs <= config.timeoutMs) reader.leaseTooShort(config.leaseMs, config.timeoutMs)
  if (reader.problems.length > 0) throw new BadSettings(reader.problems)
  return config
}

class Reader {
  readonly problems: string[] = []
  readonly sources = new Map<string, { shown: string; source: Source }>()
  readonly #layers: readonly (readonly [Source, Environment])[]

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
    this.sources.set(name, { shown, source: found.source })
    const result = settings[name].shape.safeParse(found.text)
    if (result.success) return result.data as Value<N>
    const expected = result.error.issues[0]?.message ?? 'another value'
    this.problems.push(
      `${name}: expected ${expected}, got ${secret ? 'something else' : JSON.stringify(shown)}; ${settings[name].hint}`,
    )
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
    if (url === undefined || key === undefined || this.problems.length > problems) return null
    this.#checkAddress(url)
    return { url, key: new Secret(key) }
  }

  leaseTooShort(leaseMs: number, timeoutMs: number): void {
    this.problems.push(
      `MILL_LEASE_MS: expected more than MILL_TIMEOUT_MS (${timeoutMs}), got ${leaseMs}; a lease must outlive a call and its storing`,
    )
  }

  #checkAddress(url: URL): void {
    if (url.username !== '' || url.password !== '' || url.searchParams.has('api_key')) {
      this.problems.push(
        'SEARCH_API_URL: expected an address without a key in it; set SEARCH_API_KEY, which travels in a header only',
      )
    }
    if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
      this.problems.push(
        `SEARCH_API_URL: expected https, got http to ${url.hostname}; a key never travels in the clear, except to this machine`,
      )
    }
  }

  #readKeyFile(file: string): string | undefined {
    try {
      const key = readFileSync(file, 'utf8').trim()
      if (settings.SEARCH_API_KEY.shape.safeParse(key).success) return key
      this.problems.push(`SEARCH_API_KEY_FILE: expected one key in ${file}, got something else`)
    } catch {
      this.problems.push(
        `SEARCH_API_KEY_FILE: expected a readable file, got ${JSON.stringify(file)}`,
      )
    }
    return undefined
  }

  #find(name: string): { text: string; source: Source } | undefined {
    for (const [source, layer] of this.#layers) {
      const text = layer[name]?.trim()
      if (text !== undefined && text !== '') return { text, source }
    }
    return undefined
  }
}

/** True for the names and numbers of this machine itself. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

function maskPassword(text: string): string {
  return text.replace(/^([a-z]+:\/\/[^:/@]*):[^@]*@/, '$1:…@')
}

/** A path as the person meant it who typed it. */
export function callerPath(env: Environment, path: string): string {
  return isAbsolute(path) ? path : resolve(callerFolder(env), path)
}
