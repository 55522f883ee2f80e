import { hash, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { isForwarded } from '../../shared/address.ts'
import type { Secret } from '../../shared/secret.ts'
import type { DoorEnv } from '../door.ts'
import { Refusal } from '../refusal.ts'

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i
const loopbackPeer = /^(::1|(::ffff:)?127\.)/
const wrongAMinute = 10

/** Lets in who stands at this machine, or who knows the password. */
export class Guard {
  readonly #password: Secret | null
  readonly #publicUrl: () => string
  #wrong: number[] = []

  constructor(password: Secret | null, publicUrl: () => string) {
    this.#password = password
    this.#publicUrl = publicUrl
  }

  /** Throws for everybody who is not let in. */
  check(c: Context<DoorEnv>): void {
    if (this.#password === null) {
      if (isHere(c)) return
      const text =
        'The dashboard opens on its own machine only; SERVICE_PASSWORD opens it elsewhere'
      throw new Refusal(403, text)
    }
    this.#wrong = this.#wrong.filter((at) => at > Date.now() - 60_000)
    if (this.#wrong.length >= wrongAMinute) {
      throw new Refusal(429, 'Too many wrong passwords', { 'retry-after': '60' })
    }
    const given = givenPassword(c.req.header('authorization'))
    if (given !== null && isSame(given, this.#password.reveal())) return
    if (given !== null) this.#wrong.push(Date.now())
    const headers = { 'www-authenticate': 'Basic realm="dashboard", charset="UTF-8"' }
    throw new Refusal(401, 'The dashboard needs its password', headers)
  }

  /** A form counts only when our own page sent it: another site's page could send one, too. */
  checkForm(c: Context<DoorEnv>): void {
    this.check(c)
    const site = c.req.header('sec-fetch-site')
    const origin = c.req.header('origin')
    const own = [new URL(this.#publicUrl()).origin, `http://${c.req.header('host') ?? ''}`]
    if (site === 'same-origin' || (site === undefined && own.includes(origin ?? ''))) return
    throw new Refusal(403, 'The form was not sent by the dashboard')
  }
}

/** The name that was asked for counts too: a name of another site can lead to this machine. */
function isHere(c: Context<DoorEnv>): boolean {
  if (isForwarded((name) => c.req.header(name))) return false
  const peer = c.env.incoming.socket.remoteAddress ?? ''
  return loopbackPeer.test(peer) && loopback.test(c.req.header('host') ?? '')
}

function givenPassword(header: string | undefined): string | null {
  const encoded = /^basic\s+(\S+)$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  return text.slice(text.indexOf(':') + 1)
}

function isSame(given: string, password: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', password, 'buffer'))
}
