// Reads the settings from flags, environment, `.env` and defaults, in this order of precedence, and reports all
// problems at once.

import { existsSync, readFileSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { addressProblems, maskPassword } from './address.ts'
import { BadSettings, unreadable } from './errors.ts'
import { workplace } from './root.ts'
import { Secret } from './secret.ts'
import { type Name, settings, type Value, webhookEvents } from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** All settings. A setting without a value is null. `settings.ts` documents each setting. */
export type Config = Readonly<ReturnType<typeof readAll>>

/** Returns the environment of this process. Other code must not read `process.env` directly. */
export function processEnvironment(): Environment {
  return process.env
}

/** Returns the folder in which the user typed the command. npm changes the current folder to the project's folder. */
export function callerFolder(env: Environment): string {
  return env['INIT_CWD'] ?? process.cwd()
}

export function readConfig(env: Environment, flags: Partial<Record<Name, string>> = {}): Config {
  const reader = new SettingsReader(env, flags)
  const config = readAll(reader)
  const { leaseMs, timeoutMs } = config
  const leastMs = Math.ceil(timeoutMs * leasePerTimeout)
  if (leaseMs < leastMs) {
    reader.problems.push(
      `MILL_LEASE_MS: expected at least ${leastMs}, which is 1.5 times MILL_TIMEOUT_MS (${timeoutMs}), got ${leaseMs}; a lease must last longer than it takes to make a call and store its answer`,
    )
  }
  if (reader.problems.length > 0) throw new BadSettings(reader.problems)
  return config
}

function readAll(reader: SettingsReader) {
  return {
    home: resolve(reader.value('MILL_HOME') ?? ''),
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
    // An invalid lease becomes NaN, so that later comparisons are false and report no further problems.
    leaseMs: reader.value('MILL_LEASE_MS') ?? Number.NaN,
    stallMs: reader.value('MILL_STALL_MS') ?? 0,
    zone: reader.value('MILL_ZONE') ?? 'UTC',
    metricsHost: reader.value('MILL_METRICS_HOST') ?? '127.0.0.1',
    metricsPort: reader.value('MILL_METRICS_PORT') ?? null,
    webhook: reader.webhook(),
    unattendedMs: reader.value('MILL_UNATTENDED') ?? 0,
    upstream: reader.value('UPSTREAM') ?? 'local',
    searxngUrl: reader.value('SEARXNG_URL') ?? null,
    publicUrl: reader.value('SERVICE_PUBLIC_URL') ?? null,
    servicePassword: reader.value('SERVICE_PASSWORD') ?? null,
    keepQueriesMs: reader.value('SERVICE_KEEP_QUERIES') ?? 0,
    sources: reader.sources,
  }
}

/** Rejects unknown settings, even for commands that read no settings. Reports all problems at once. */
export function refuseUnknownSettings(env: Environment): void {
  if (new SettingsReader(env, {}).problems.length > 0) readConfig(env)
}

export function callerPath(env: Environment, path: string): string {
  return isAbsolute(path) ? path : resolve(callerFolder(env), path)
}

export type Webhook = NonNullable<Config['webhook']>

// Settings that are secrets. A webhook URL is a secret, because anyone who knows the URL can post to it.
const secretNames: readonly string[] = [
  'SEARCH_API_KEY',
  'SERVICE_PASSWORD',
  'MILL_WEBHOOK',
  'MILL_WEBHOOK_SECRET',
]

// Minimum lease length, as a multiple of the call timeout: a lease must outlast a call and a slow renewal.
const leasePerTimeout = 1.5

class SettingsReader {
  readonly problems: string[]
  /** File that the API key was read from, or null if no file was read. */
  keyFile: string | null = null
  readonly sources = new Map<string, { shown: string; source: SettingSource }>()
  readonly #layers: Layers

  constructor(env: Layer, flags: Layer) {
    const fallbacks = Object.fromEntries(
      Object.entries(settings).map(([name, { fallback }]) => [name, fallback]),
    )
    this.#layers = [
      ['flag', flags],
      ['environment', env],
      ['.env', readDotenv()],
      ['default', fallbacks],
    ]
    this.problems = unknownSettings(this.#layers)
  }

  /** An empty value counts as unset, as is usual in shells and Compose files. */
  value<N extends Name>(name: N): Value<N> | undefined {
    const found = this.#layers
      .map(([source, layer]) => ({ source, text: layer[name]?.trim() ?? '' }))
      .find(({ text }) => text !== '')
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

  /** Returns the URL and key of the API, or null for the bundled service. */
  api(): { readonly url: URL; readonly key: Secret } | null {
    const url = this.value('SEARCH_API_URL')
    const { secret: key, file, given: keyGiven } = this.#secret('SEARCH_API_KEY')
    this.keyFile = file
    const problems = this.problems.length
    if (url === undefined && keyGiven && this.sources.get('SEARCH_API_URL')?.shown === '') {
      this.problems.push(
        'SEARCH_API_URL: not set, although a key is set; set the address of the API that issued the key',
      )
    }
    if (url !== undefined && !keyGiven && this.sources.get('SEARCH_API_KEY')?.shown === '') {
      this.problems.push(
        'SEARCH_API_KEY: expected a key because SEARCH_API_URL is set, got nothing; set the key or SEARCH_API_KEY_FILE',
      )
    }
    if (url !== undefined) this.problems.push(...addressProblems(url))
    if (url === undefined || key === null || this.problems.length > problems) return null
    return { url, key }
  }

  webhook() {
    const url = this.value('MILL_WEBHOOK')
    const { secret } = this.#secret('MILL_WEBHOOK_SECRET')
    const events: readonly string[] = this.value('MILL_WEBHOOK_EVENTS') ?? webhookEvents
    const format = this.value('MILL_WEBHOOK_FORMAT')
    if (url === undefined) return null
    const usual = url.hostname === 'hooks.slack.com' ? 'slack' : 'json'
    return { url, secret, events, format: format ?? usual }
  }

  /** Reads a secret from the setting itself, or from the file named by the matching `_FILE` setting. */
  #secret(name: 'SEARCH_API_KEY' | 'MILL_WEBHOOK_SECRET') {
    const file = this.value(`${name}_FILE`)
    const own = this.value(name)
    if (own !== undefined) return { secret: new Secret(own), file: null, given: true }
    if (file === undefined) return { secret: null, file: null, given: false }
    return { secret: this.#readKeyFile(name, file), file, given: true }
  }

  #readKeyFile(name: 'SEARCH_API_KEY' | 'MILL_WEBHOOK_SECRET', file: string): Secret | null {
    try {
      const key = readFileSync(file, 'utf8').trim()
      if (settings[name].shape.safeParse(key).success) return new Secret(key)
      const got = key === '' ? 'nothing' : new Secret(key).describe()
      this.problems.push(`${name}_FILE: expected one key in ${file}, got ${got}`)
    } catch (cause) {
      const { message } = unreadable(file, cause, 'a folder; name the file')
      this.problems.push(`${name}_FILE: ${message}`)
    }
    return null
  }
}

function readDotenv(): Layer {
  const file = join(workplace, '.env')
  if (!existsSync(file)) return {}
  try {
    const text = readFileSync(file, 'utf8').replace(/^\ufeff/, '')
    const broken = linesWithoutValue(text)
    const rest = text.split('\n').filter((line) => !broken.includes(line))
    // The parser drops the last line if its closing quote is missing, so one more line is appended.
    const read = parseEnv(`${rest.join('\n')}\n_=_`)
    // Broken lines are returned under names that no setting can have, so that they are reported.
    return { ...read, ...Object.fromEntries(broken.map((line) => [`${line}\n`, 'no value'])) }
  } catch (cause) {
    throw unreadable(file, cause, 'a folder; remove it, or put a file in its place')
  }
}

/** Finds lines without "=". Some Node releases silently drop lines without "=", and may lose the next line too. */
function linesWithoutValue(text: string): string[] {
  const values = /=[^\S\n]*("[^"]*"|'[^']*'|`[^`]*`)/g
  return text
    .replace(values, '=')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*#/.test(line) && !line.includes('='))
}

// Misspelled settings are detected, because a misspelled credit floor would silently have no effect.

type SettingSource = 'flag' | 'environment' | '.env' | 'default'

type Layer = Readonly<Record<string, string | undefined>>

type Layers = readonly (readonly [SettingSource, Layer])[]

const names = Object.keys(settings)

/** Prefixes of settings that only querymill uses. */
const ownPrefix = /^(?:QUERY)?MILL_|^SEARCH_API_/

/** Settings that other programs also use, under the same or similar names. */
const alsoOfOthers = /^(?:DATABASE_URL|REDIS_URL|SEARXNG_URL|UPSTREAM)$/

const places: Readonly<Record<SettingSource, string>> = {
  flag: 'among the program settings',
  environment: 'in the environment',
  '.env': 'in .env',
  default: 'among the defaults',
}

function unknownSettings(layers: Layers): string[] {
  return layers.flatMap(([source, layer]) =>
    Object.keys(layer).flatMap((name) => {
      if (Object.hasOwn(settings, name) || !isSet(layer, name)) return []
      if (source === '.env' && !/^[\w.-]+$/.test(name)) return brokenLine(name)
      if (!isMeantAsSetting(name, source, layers)) return []
      const suggestion = suggest(name)
      const advice =
        suggestion === undefined ? '.env.example lists all settings' : `did you mean ${suggestion}?`
      return `${name}: expected the name of a setting, got an unknown name ${places[source]}; ${advice}`
    }),
  )
}

function isSet(layer: Layer, name: string): boolean {
  return (layer[name]?.trim() ?? '') !== ''
}

function isMeantAsSetting(name: string, source: SettingSource, layers: Layers): boolean {
  if (source === 'flag') return true
  const plain = plainName(name)
  if (ownPrefix.test(plain)) return source !== 'environment' || !isServiceLink(name, layers)
  return names.some((setting) => {
    if (!isNear(plain, setting, 1)) return false
    if (source === 'environment' && alsoOfOthers.test(setting)) return false
    // If the setting itself also has a value, the similar name is assumed to belong to another program.
    return !layers.some(([from, layer]) => from !== 'default' && isSet(layer, setting))
  })
}

/** True for a variable that Kubernetes sets for a service, such as SEARCH_API_PORT for `search-api`. */
function isServiceLink(name: string, layers: Layers): boolean {
  const service = /^(\w+?)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_\w+)?)$/.exec(
    name,
  )?.[1]
  return (
    service !== undefined &&
    layers.some(([, layer]) => layer[`${service}_SERVICE_HOST`] !== undefined)
  )
}

/** Reports a line that names a setting but has no "=", because the setting's value would be lost. */
function brokenLine(name: string): string[] {
  const words = name.replaceAll(/^\s*#.*$/gm, '').match(/[\w-]+/g) ?? []
  // Shows only the setting's name, because the line may contain a key.
  const found = words.find((word) => {
    const plain = plainName(word)
    return ownPrefix.test(plain) || names.includes(plain)
  })
  if (found === undefined) return []
  return [
    `${found}: expected a .env line with only NAME=value, got other text on that line or on the line above`,
  ]
}

function suggest(name: string): string | undefined {
  const plain = plainName(name).replace(/^QUERYMILL_/, 'MILL_')
  return (
    names.find((setting) => isNear(plain, setting, 1)) ??
    names.find((setting) => isNear(plain, setting, plain.length / 5)) ??
    names.find((setting) => sharesWords(plain, setting))
  )
}

/** True if the typed name has missing or extra words, as in MILL_FLOOR or MILL_WEBHOOK_URL. */
function sharesWords(plain: string, setting: string): boolean {
  const [typed, known] = [wordsOf(plain), wordsOf(setting)]
  const within = (some: readonly string[], all: readonly string[]) =>
    some.length > 0 && some.every((word) => all.includes(word))
  return within(typed, known) || within(known, typed)
}

function wordsOf(name: string): string[] {
  return name.split('_').filter((word) => word !== '' && word !== 'MILL')
}

function plainName(name: string): string {
  return name.trim().toUpperCase().replaceAll('-', '_')
}

/** True if at most `edits` letters were inserted, deleted, replaced, or swapped with the next letter. */
function isNear(a: string, b: string, edits: number): boolean {
  if (Math.abs(a.length - b.length) > edits) return false
  if (a === '' || b === '') return true
  if (a[0] === b[0]) return isNear(a.slice(1), b.slice(1), edits)
  const swapped = a[0] === b[1] && a[1] === b[0]
  return (
    (swapped && isNear(a.slice(2), b.slice(2), edits - 1)) ||
    isNear(a.slice(1), b.slice(1), edits - 1) ||
    isNear(a.slice(1), b, edits - 1) ||
    isNear(a, b.slice(1), edits - 1)
  )
}
