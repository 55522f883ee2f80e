import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { isLoopback } from '../../../src/base/address.ts'
import { type Call, print } from '../../../src/base/cli/command.ts'
import { wholeFlag } from '../../../src/base/cli/flags.ts'
import { callerPath, type Environment } from '../../../src/base/config.ts'
import { type Exit, exits, Misuse, reasonOf } from '../../../src/base/errors.ts'
import { bindLoopback } from '../../support/loopback.ts'
import type { RequestEntry, StandInBooks } from './books.ts'
import { startCanned } from './canned.ts'
import { type KnobChange, knobShape, type KnobsInput } from './knobs.ts'
import { Stand } from './stand.ts'

/** Flags of `npm run stand-in --`. */
export interface StandInFlags {
  readonly port: string
  readonly host: string
  readonly faults?: string
  readonly canned?: boolean
  readonly latency: string
}

interface StandIn {
  /** Information for a program that started the stand-in. */
  readonly shown: { readonly url: string; readonly key: string; readonly admin?: string }
  close(): Promise<void>
}

/** The stand-in command: an API that serves prepared answers, or fails on purpose, until it receives a signal. */
export async function runStandIn({
  options,
  env,
  closers,
  signal,
}: Call<StandInFlags>): Promise<Exit> {
  const standIn = await startStandIn(options, env)
  closers.add('stand-in', standIn, (open) => open.close())
  print(JSON.stringify(standIn.shown))
  if (!signal.aborted) await once(signal, 'abort')
  return exits.done
}

async function startStandIn(options: StandInFlags, env: Environment): Promise<StandIn> {
  const { faults } = options
  const port = wholeFlag('port', options.port, 65_535) ?? 0
  if ((faults === undefined) === (options.canned !== true)) {
    throw new Misuse('expected either --faults or --canned')
  }
  // A stand-in answers incorrectly on purpose, so no other machine may reach it.
  if (!isLoopback(options.host)) {
    throw new Misuse(`expected --host to be this machine for a stand-in, got ${options.host}`)
  }
  if (faults === undefined) {
    const canned = await startCanned({
      port,
      latencyMs: wholeFlag('latency', options.latency, 600_000) ?? 0,
    })
    return { shown: { url: canned.url, key: canned.key }, close: () => canned.close() }
  }
  const faulty = await startFaulty({ port, ...readKnobs(faults, env) })
  const { url, key, admin } = faulty
  return { shown: { url, key, admin }, close: () => faulty.close() }
}

function readKnobs(text: string, env: Environment): KnobsInput {
  const path = callerPath(env, text)
  const json =
    text.trimStart().startsWith('{') || !existsSync(path) ? text : readFileSync(path, 'utf8')
  let knobs: unknown
  try {
    knobs = JSON.parse(json)
  } catch (cause) {
    throw new Misuse('expected --faults to be JSON or a file of it, got something else', { cause })
  }
  const checked = knobShape.safeParse(knobs)
  if (checked.success) return knobs as KnobsInput
  throw new Misuse(
    `expected --faults to be knobs that exist, got:\n${z.prettifyError(checked.error)}`,
  )
}

export interface Faulty {
  readonly url: string
  /** Address for reading the records and changing the settings, which differs from the address that clients use. */
  readonly admin: string
  readonly key: string
  balance(): number
  /** The lowest balance so far. */
  least(): number
  /** One entry for each request, in order of arrival. */
  charges(): readonly RequestEntry[]
  readonly books: StandInBooks
  /** Changes settings at runtime; settings that are not named stay unchanged. */
  set(change: KnobChange): void
  renew(credits: number): void
  /** Stops at once, and cuts open connections. */
  close(): Promise<void>
}

/** Starts a stand-in for the paid API that fails on purpose and keeps its own records. Listens on loopback only. */
export async function startFaulty(input: KnobsInput = {}): Promise<Faulty> {
  const stand = new Stand(knobShape.parse(input))
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    response.on('error', () => undefined)
    void stand.answer(request, response)
  })
  stand.url = await bindLoopback(server, stand.knobs.port)
  const admin = await openAdmin(stand, stand.knobs.adminPort)
  const timers = startTimers(stand)
  return {
    url: stand.url,
    admin: admin.url,
    key: stand.key,
    books: stand.books,
    balance: () => stand.books.balance,
    least: () => stand.books.least,
    charges: () => stand.books.entries,
    set: (change) => stand.set(change),
    renew: (credits) => stand.books.renew(credits),
    async close() {
      timers.forEach(clearInterval)
      await Promise.all([endNow(server), endNow(admin.server)])
    },
  }
}

function startTimers({ knobs, books }: Stand): NodeJS.Timeout[] {
  const { renewal, otherSpender: other } = knobs
  const timers: NodeJS.Timeout[] = []
  if (renewal !== undefined) {
    timers.push(setTimeout(() => books.renew(renewal.credits), renewal.afterMs))
  }
  if (other !== undefined) {
    timers.push(setInterval(() => books.spendElsewhere(other.credits), other.everyMs))
  }
  return timers
}

async function endNow(server: Server): Promise<void> {
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  })
}

/** State that is read and changed through the operator's port. */
interface Desk {
  readonly books: StandInBooks
  set(change: KnobChange): void
}

/** Serves records and settings on a separate port, which API clients can't reach through the API's address. */
async function openAdmin(desk: Desk, port: number): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    void serve(desk, request, response)
  })
  return { url: await bindLoopback(server, port), server }
}

async function serve(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { books } = desk
  const sums = { balance: books.balance, least: books.least, charged: books.charged }
  switch (`${request.method} ${request.url}`) {
    case 'GET /balance':
      return reply(response, 200, sums)
    case 'GET /charges':
      return reply(response, 200, { ...sums, charges: books.entries, events: books.events })
    case 'POST /set':
      return await changeKnobs(desk, request, response)
    default:
      return reply(response, 404, { error: 'GET /balance, GET /charges and POST /set live here' })
  }
}

async function changeKnobs(
  desk: Desk,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    desk.set(JSON.parse(text) as KnobChange)
    reply(response, 200, { ok: true })
  } catch (error) {
    reply(response, 400, { error: reasonOf(error) })
  }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
