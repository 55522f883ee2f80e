// Starts and stops this machine's bundled search service, and issues its key.

import { hash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Unreachable } from '../errors.ts'
import { Secret } from '../secret.ts'
import { pause } from '../waiting.ts'
import { becomesFree, commandOf, endProcess, startDaemon } from './process.ts'
import { openHome, readIfThere, withLock, writePrivate } from './state.ts'

interface BundledServiceOptions {
  readonly home: string
  readonly databaseUrl: string
}

// The pid is stored before the service responds, and removed after the service ends. The URL is kept, so that the next
// start uses the same port.
const shape = z.object({
  url: z.url().nullable(),
  pid: z.number().nullable(),
  database: z.string(),
})
type State = z.output<typeof shape>

const readyLine = z.looseObject({ url: z.url() })
const patienceMs = 60_000
const goodbyeMs = 10_000

/** Starts the service unless it is running. The service keeps running after the command ends. */
export async function ensureService(options: BundledServiceOptions) {
  const home = openHome(options.home)
  const wanted = { ...options, home }
  return (await findService(wanted)) ?? withLock(join(home, 'service.lock'), () => open(wanted))
}

/** Stops this home's bundled service, or returns false if the service was not running. */
export async function stopService(givenHome: string): Promise<boolean> {
  if (!existsSync(givenHome)) return false
  const home = openHome(givenHome)
  return withLock(join(home, 'service.lock'), () => end(home))
}

/** Reads the status without starting anything. */
export async function serviceStatus(givenHome: string) {
  const state = existsSync(givenHome) ? readState(openHome(givenHome)) : null
  if (state === null || state.url === null || !isOurs(state.pid)) {
    return { running: false, url: null }
  }
  return { running: await isHealthy(state.url), url: state.url }
}

async function findService({ home, databaseUrl }: BundledServiceOptions) {
  const state = readState(home)
  const key = readKey(home)
  if (state === null || key === null || state.database !== fingerprint(databaseUrl)) return null
  if (state.url === null || !isOurs(state.pid) || !(await isHealthy(state.url))) return null
  return { url: new URL(state.url), key }
}

/** Starts the service under the lock, unless another process started it while this process waited for the lock. */
async function open(options: BundledServiceOptions) {
  const found = await findService(options)
  if (found !== null) return found
  const { home } = options
  await end(home)
  const known = readKey(home)
  const [url, issued] = await Promise.all([start(options), known ?? issueKey(options)])
  // The key may be from a different database.
  const good = known === null || (await isGoodKey(url, issued))
  return { url: new URL(url), key: good ? issued : await issueKey(options) }
}

async function start(options: BundledServiceOptions): Promise<string> {
  const { home, databaseUrl } = options
  const args = ['--port', String(await choosePort(home)), '--host', '127.0.0.1', '--log', 'none']
  const files = { out: join(home, 'service.out'), log: join(home, 'service.log') }
  const service = startDaemon('service', args, { ...options, ...files })
  const state = { url: null, pid: service.pid ?? null, database: fingerprint(databaseUrl) }
  writeState(home, state)
  const deadline = Date.now() + patienceMs
  for (;;) {
    const [line, rest] = readIfThere(files.out)?.split('\n') ?? []
    if (line !== undefined && rest !== undefined) {
      const { url } = readyLine.parse(JSON.parse(line))
      writeState(home, { ...state, url })
      // The service is detached, so it can outlive this process.
      service.unref()
      return url
    }
    const ended = (service.exitCode ?? service.signalCode) !== null
    if (service.pid === undefined || ended || Date.now() > deadline) {
      await end(home)
      throw new Unreachable(
        `the bundled search service could not be started: ${readIfThere(files.log)?.trim().split('\n').at(-1) ?? 'nothing'}; see ${files.log}`,
      )
    }
    await pause(25)
  }
}

/** Chooses a port. Prefers the previous port, because users may have noted it. */
async function choosePort(home: string): Promise<number> {
  const url = readState(home)?.url ?? null
  const port = url === null ? 0 : Number(new URL(url).port)
  return port !== 0 && (await becomesFree(port)) ? port : 0
}

async function end(home: string): Promise<boolean> {
  const state = readState(home)
  if (state === null || state.pid === null) return false
  const { pid } = state
  const ran = isOurs(pid)
  if (ran) await endProcess(pid, () => isOurs(pid), goodbyeMs)
  writeState(home, { ...state, pid: null })
  return ran
}

/** True if the pid belongs to our service. After a reboot, the pid may belong to another process. */
function isOurs(pid: number | null): boolean {
  if (pid === null) return false
  const program = /[/\\](?:jobs[/\\]service\.[jt]s|run\.mjs service) /
  return program.test(commandOf(pid)?.join(' ') ?? '')
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(5_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    // If the service does not respond, the caller starts another service.
    return false
  }
}

function readState(home: string): State | null {
  const text = readIfThere(join(home, 'service.json'))
  return text === null ? null : shape.parse(JSON.parse(text))
}

function writeState(home: string, state: State): void {
  writePrivate(join(home, 'service.json'), `${JSON.stringify(state)}\n`)
}

function fingerprint(databaseUrl: string): string {
  return hash('sha256', databaseUrl, 'hex').slice(0, 32)
}

// Credits for a new key: enough to try the program, but few enough that changes in the balance are visible.
const credits = 1_000_000

const keyShape = z.looseObject({ key: z.string().startsWith('sk_live_') })

/** Returns the path of the file with this machine's key, which also works as SEARCH_API_KEY_FILE. */
function keyFile(home: string): string {
  return join(home, 'service.key')
}

function readKey(home: string): Secret | null {
  const text = readIfThere(keyFile(home))?.trim() ?? ''
  return text === '' ? null : new Secret(text)
}

/** Issues a key with the `keys` command, and stores it in a private file. */
async function issueKey(options: BundledServiceOptions): Promise<Secret> {
  const file = keyFile(options.home)
  const files = { out: `${file}.new`, log: join(options.home, 'keys.log') }
  const args = ['create', '--kind', 'live', '--credits', String(credits), '--name', 'bundled']
  try {
    const keys = startDaemon('keys', [...args, '--json'], { ...options, ...files })
    const [code] = (await once(keys, 'exit')) as [number | null]
    if (code !== 0) {
      throw new Unreachable(
        `could not create a key for the bundled search service (exit code ${code}): ${readIfThere(files.log)?.trim() ?? ''}`,
      )
    }
    const { key } = keyShape.parse(JSON.parse(readIfThere(files.out) ?? ''))
    writePrivate(file, `${key}\n`)
    return new Secret(key)
  } finally {
    rmSync(files.out, { force: true })
    rmSync(files.log, { force: true })
  }
}

/** Tests a key with a request that has no query. The service checks the key first, so the request costs nothing. */
async function isGoodKey(url: string, key: Secret): Promise<boolean> {
  const response = await fetch(new URL('/v1/search', url), {
    headers: { authorization: `Bearer ${key.reveal()}` },
    signal: AbortSignal.timeout(10_000),
  })
  await response.body?.cancel()
  return response.status !== 401 && response.status !== 403
}
