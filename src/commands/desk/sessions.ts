import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { Misuse, unreadable } from '../../shared/errors.ts'
import { Secret } from '../../shared/secret.ts'

const derive = promisify<string, Buffer, number, Buffer>(scrypt)

const leastLength = 12
const lastsMs = 12 * 3_600_000
const minuteMs = 60_000
/** Wrong tries in a minute, from one address and from all. */
const mostWrong = { each: 5, all: 30 }
const mostSessions = 1_000
const keyBytes = 32

/** What became of a try. */
export type PasswordTry =
  | { readonly kind: 'in'; readonly token: string }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'wait' }

/** Who has shown the password: kept in memory, so that a restart lets nobody in. */
export class Sessions {
  readonly cookie: string
  readonly #salt = randomBytes(16)
  readonly #password: Promise<Buffer>
  readonly #tokens = new Map<string, number>()
  #wrong: { readonly at: number; readonly from: string }[] = []

  /** Cookies do not tell ports apart: each desk of a machine has a name of its own. */
  constructor(password: Secret, port: number) {
    this.cookie = `querymill_desk_${port}`
    this.#password = derive(password.reveal(), this.#salt, keyBytes)
  }

  /** Compares in the same time whatever was typed; counts what was wrong before it looks. */
  async enter(typed: string, from: string): Promise<PasswordTry> {
    const now = Date.now()
    this.#wrong = this.#wrong.filter(({ at }) => at > now - minuteMs)
    const mine = this.#wrong.filter((one) => one.from === from).length
    if (mine >= mostWrong.each || this.#wrong.length >= mostWrong.all) return { kind: 'wait' }
    // Counted as wrong until it proves right: many tries at once must not slip through together.
    const mark = { at: now, from }
    this.#wrong.push(mark)
    const [given, password] = await Promise.all([
      derive(typed, this.#salt, keyBytes),
      this.#password,
    ])
    if (!timingSafeEqual(given, password)) return { kind: 'wrong' }
    this.#wrong = this.#wrong.filter((one) => one !== mark)
    return { kind: 'in', token: this.#issue(now) }
  }

  /** Whether a request's cookies hold a session that lasts. */
  knows(cookies: string | undefined): boolean {
    const ends = this.#tokens.get(fingerprint(this.#tokenIn(cookies) ?? ''))
    return ends !== undefined && ends > Date.now()
  }

  /** Ends the session that a request's cookies hold. */
  leave(cookies: string | undefined): void {
    this.#tokens.delete(fingerprint(this.#tokenIn(cookies) ?? ''))
  }

  /** The cookie for the browser; without a token, the one that takes it back. */
  header(token: string | null, secure: boolean): string {
    const age = token === null ? 0 : lastsMs / 1000
    const flags = `Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`
    return `${this.cookie}=${token ?? ''}; ${flags}`
  }

  #issue(now: number): string {
    for (const [token, ends] of this.#tokens) {
      if (ends <= now || this.#tokens.size >= mostSessions) this.#tokens.delete(token)
    }
    const token = randomBytes(32).toString('base64url')
    this.#tokens.set(fingerprint(token), now + lastsMs)
    return token
  }

  #tokenIn(cookies: string | undefined): string | null {
    const found = (cookies ?? '').split(';').map((one) => one.trim().split('='))
    return found.find(([name]) => name === this.cookie)?.[1] ?? null
  }
}

/** What is kept of a token: whoever reads the memory of this process gets in with none of them. */
function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('base64')
}

/** The password in a file: its first line. */
export function readPassword(path: string, shown: string): { password: Secret; exposed: boolean } {
  let text: string
  let mode: number
  try {
    text = readFileSync(path, 'utf8')
    mode = statSync(path).mode
  } catch (cause) {
    throw unreadable(shown, cause, 'a folder; name the file in it')
  }
  const line = text.split(/\r?\n/, 1).join('')
  if (line.length < leastLength) {
    throw new Misuse(
      `expected a password of at least ${leastLength} characters in the first line of ${shown}, got ${line.length}; write a longer one`,
    )
  }
  return { password: new Secret(line), exposed: (mode & 0o077) !== 0 }
}
