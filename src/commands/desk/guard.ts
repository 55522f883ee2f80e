import { hostname, networkInterfaces } from 'node:os'
import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { isForwarded, isLoopback } from '../../shared/address.ts'
import type { Sessions } from './sessions.ts'

/** What every request brings: its connection, as Node has it. */
export interface DeskEnv {
  readonly Bindings: HttpBindings
}

/** Whoever is not let in is told why, and nothing else. */
export class Refused extends Error {
  readonly status: 401 | 403 | 413 | 429

  constructor(status: Refused['status'], text: string) {
    super(text)
    this.status = status
  }
}

export interface GuardOptions {
  /** Where the desk listens. */
  readonly host: string
  /** Where people reach it, when that is another address. */
  readonly publicUrl: URL | null
  /** Null: no password, this machine only. */
  readonly sessions: Sessions | null
}

/** Decides by its head whether a request may be answered. */
export class Doorkeeper {
  readonly sessions: Sessions | null
  readonly #publicUrl: URL | null
  readonly #names: ReadonlySet<string>

  constructor({ host, publicUrl, sessions }: GuardOptions) {
    this.sessions = sessions
    this.#publicUrl = publicUrl
    this.#names = namesOf(host, publicUrl)
  }

  /** Throws for requests of other sites: a name of theirs may lead here, and a page of theirs may ask for ours. */
  checkSource(c: Context<DeskEnv>): void {
    const host = hostOf(c.req.header('host'))
    if (host === null || !(isLoopback(host) || this.#names.has(host))) {
      throw new Refused(
        403,
        'The desk is not known by this name: open it by the address it printed.',
      )
    }
    const origin = c.req.header('origin')
    if (origin !== undefined && !this.#isOurs(origin, c.req.header('host') ?? '')) {
      throw new Refused(
        403,
        'The desk answers its own pages only, and this request came from another site.',
      )
    }
    const site = c.req.header('sec-fetch-site') ?? 'none'
    if (site === 'none' || site === 'same-origin') return
    // A link that somebody was sent leads here from another site; nothing else of other sites may.
    const followed =
      c.req.method === 'GET' &&
      c.req.header('sec-fetch-mode') === 'navigate' &&
      c.req.header('sec-fetch-dest') === 'document'
    if (!followed)
      throw new Refused(403, 'The desk answers no requests that pages of other sites make.')
  }

  /** Throws unless the visitor may read; of those who have to show a password first, false. */
  admits(c: Context<DeskEnv>): boolean {
    if (this.sessions !== null) return this.sessions.knows(c.req.header('cookie'))
    if (!isForwarded((name) => c.req.header(name))) return true
    throw new Refused(
      403,
      'Behind a proxy the desk needs a password: start it with --password-file.',
    )
  }

  /** A form counts only when our own page sent it. */
  checkForm(c: Context<DeskEnv>): void {
    const site = c.req.header('sec-fetch-site')
    const origin = c.req.header('origin')
    if (site === 'same-origin' || (site === undefined && origin !== undefined)) return
    throw new Refused(403, 'The form was not sent by the desk.')
  }

  /** Whether people reach the desk through TLS: then the cookie goes no other way. */
  get secure(): boolean {
    return this.#publicUrl?.protocol === 'https:'
  }

  #isOurs(origin: string, host: string): boolean {
    return origin === `http://${host}` || origin === this.#publicUrl?.origin
  }
}

/** The names under which an address is known besides those of this machine alone. */
function namesOf(host: string, publicUrl: URL | null): ReadonlySet<string> {
  const everywhere = host === '0.0.0.0' || host === '::'
  const own = everywhere
    ? Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map((one) => one.address))
    : [host]
  const names = [...own, ...(everywhere ? [hostname()] : [])]
  if (publicUrl !== null) names.push(hostOf(publicUrl.host) ?? '')
  return new Set(names.map((name) => urlHost(name.toLowerCase())))
}

/** An address as it stands in a URL: one with colons in brackets. */
export function urlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** The name in a Host header, without its port. */
function hostOf(header: string | undefined): string | null {
  const found = /^(\[[0-9a-f:.]+\]|[^:/?#@\s]+)(?::\d{1,5})?$/i.exec(header ?? '')
  return found?.[1]?.toLowerCase() ?? null
}
