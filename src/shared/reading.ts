import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { BucketAccess } from './bucket.ts'
import { addressProblems, maskPassword } from './address.ts'
import { unreadable } from './errors.ts'
import { workplace } from './root.ts'
import { Secret } from './secret.ts'
import { settings, webhookEvents, type Name, type Value } from './settings.ts'
import { unknownSettings, type Layer, type Layers, type SettingSource } from './unknown-settings.ts'

/** Who is told what happened. */
export interface Webhook {
  readonly url: URL
  /** Notices are signed with it; null: they are not. */
  readonly secret: Secret | null
  /** What is told; everything else is kept quiet. */
  readonly events: readonly string[]
  readonly format: 'json' | 'slack'
}

// The address of a webhook is its own password.
const secretNames: readonly string[] = [
  'SEARCH_API_KEY',
  'SERVICE_PASSWORD',
  'MILL_WEBHOOK',
  'MILL_WEBHOOK_SECRET',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
]

// A lease is renewed when a sixth of it is gone: what is left then must still cover a call, with room for a slow renewal.
const leasePerTimeout = 1.5

/** Reads settings one by one, by what wins, and gathers every problem. */
export class SettingsReader {
  readonly problems: string[]
  /** The file that the key of the API was read from; null: it came from elsewhere. */
  keyFile: string | null = null
  readonly sources = new Map<string, { shown: string; source: SettingSource }>()
  readonly #layers: Layers

  constructor(env: Layer, flags: Layer) {
    const fallbacks = Object.fromEntries(
      Object.entries(settings).map(([name, setting]) => [
        name,
        'fallback' in setting ? setting.fallback : undefined,
      ]),
    )
    this.#layers = [
      ['flag', flags],
      ['environment', env],
      ['.env', readDotenv()],
      ['default', fallbacks],
    ]
    this.problems = unknownSettings(this.#layers)
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

  /** Address and key of the API; null: the bundled service. */
  api(): { readonly url: URL; readonly key: Secret } | null {
    const url = this.value('SEARCH_API_URL')
    const file = this.value('SEARCH_API_KEY_FILE')
    const own = this.value('SEARCH_API_KEY')
    const key = own ?? (file === undefined ? undefined : this.#readKeyFile('SEARCH_API_KEY', file))
    this.keyFile = own === undefined ? (file ?? null) : null
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

  /** Who is told of what, and how; null: nobody. */
  webhook(): Webhook | null {
    const url = this.value('MILL_WEBHOOK')
    const file = this.value('MILL_WEBHOOK_SECRET_FILE')
    const own = this.value('MILL_WEBHOOK_SECRET')
    const text =
      own ?? (file === undefined ? undefined : this.#readKeyFile('MILL_WEBHOOK_SECRET', file))
    const events = this.value('MILL_WEBHOOK_EVENTS') ?? webhookEvents
    const format = this.value('MILL_WEBHOOK_FORMAT')
    if (url === undefined) return null
    const usual = url.hostname === 'hooks.slack.com' ? 'slack' : 'json'
    const secret = text === undefined ? null : new Secret(text)
    return { url, secret, events, format: format ?? usual }
  }

  /** What is said of buckets, as it stands: most commands need none, and other programs read it as well. */
  bucket(): BucketAccess {
    const [own, all] = [this.value('AWS_ENDPOINT_URL_S3'), this.value('AWS_ENDPOINT_URL')]
    return {
      keyId: this.value('AWS_ACCESS_KEY_ID') ?? null,
      secret: this.value('AWS_SECRET_ACCESS_KEY') ?? null,
      session: this.value('AWS_SESSION_TOKEN') ?? null,
      region: this.value('AWS_REGION') ?? null,
      endpoint:
        own !== undefined
          ? { name: 'AWS_ENDPOINT_URL_S3', text: own }
          : all === undefined
            ? null
            : { name: 'AWS_ENDPOINT_URL', text: all },
    }
  }

  #readKeyFile(name: 'SEARCH_API_KEY' | 'MILL_WEBHOOK_SECRET', file: string): string | undefined {
    try {
      const key = readFileSync(file, 'utf8').trim()
      if (settings[name].shape.safeParse(key).success) return key
      const got = key === '' ? 'nothing' : new Secret(key).describe()
      this.problems.push(`${name}_FILE: expected one key in ${file}, got ${got}`)
    } catch (cause) {
      const { message } = unreadable(file, cause, 'a folder; name the file')
      this.problems.push(`${name}_FILE: ${message}`)
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

function readDotenv(): Layer {
  const file = join(workplace, '.env')
  if (!existsSync(file)) return {}
  try {
    const text = readFileSync(file, 'utf8').replace(/^\ufeff/, '')
    const broken = linesWithoutValue(text)
    const rest = text.split('\n').filter((line) => !broken.includes(line))
    // One more line: the parser drops a last one that lacks its closing quote, without a word.
    const read = parseEnv(`${rest.join('\n')}\n_=_`)
    // Under a key that no setting has.
    return { ...read, ...Object.fromEntries(broken.map((line) => [`${line}\n`, 'no value'])) }
  } catch (cause) {
    throw unreadable(file, cause, 'a folder; remove it, or put a file in its place')
  }
}

/** Lines without "=". Parsers of some releases of Node drop them without a word, others take the next line with them. */
function linesWithoutValue(text: string): string[] {
  const values = /=[^\S\n]*("[^"]*"|'[^']*'|`[^`]*`)/g
  return text
    .replace(values, '=')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s*#/.test(line) && !line.includes('='))
}
