import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { Unreachable } from '../shared/errors.ts'
import type { Secret } from '../shared/secret.ts'
import { isGoodKey, issueKey, readKey } from './key.ts'
import { openHome, readIfThere, writePrivate } from './files.ts'
import { withLock } from './lock.ts'
import { becomesFree } from './port.ts'
import { commandOf, endProcess } from './process.ts'
import { startDaemon } from './program.ts'
import { pause } from '../shared/waiting.ts'

export interface BundledServiceOptions {
  readonly home: string
  readonly databaseUrl: string
}

/** The bundled search service of this machine, and the key that it knows us by. */
export interface BundledService {
  readonly url: URL
  readonly key: Secret
}

// The process is written down before it answers and taken out after its end; the address stays, for its port.
const shape = z.object({
  url: z.url().nullable(),
  pid: z.number().nullable(),
  database: z.string(),
})
type State = z.output<typeof shape>

const readyLine = z.looseObject({ url: z.url() })
const patienceMs = 60_000
const goodbyeMs = 10_000

/** Gives the bundled service of this home, started when it does not answer; it goes on after the command. */
export async function ensureService(options: BundledServiceOptions): Promise<BundledService> {
  const home = openHome(options.home)
  const wish = { home, databaseUrl: options.databaseUrl }
  return (await findService(wish)) ?? withLock(join(home, 'service.lock'), () => open(wish))
}

/** Ends the bundled service of this home. False: none ran. */
export async function stopService(givenHome: string): Promise<boolean> {
  if (!existsSync(givenHome)) return false
  const home = openHome(givenHome)
  return withLock(join(home, 'service.lock'), () => end(home))
}

/** Looks without starting anything. */
export async function serviceStatus(
  givenHome: string,
): Promise<{ running: boolean; url: string | null }> {
  const state = existsSync(givenHome) ? readState(openHome(givenHome)) : null
  if (state === null || state.url === null || !isOurs(state.pid)) {
    return { running: false, url: null }
  }
  return { running: await isHealthy(state.url), url: state.url }
}

async function findService({
  home,
  databaseUrl,
}: BundledServiceOptions): Promise<BundledService | null> {
  const state = readState(home)
  const key = readKey(home)
  if (state === null || key === null || state.database !== fingerprint(databaseUrl)) return null
  if (state.url === null || !isOurs(state.pid) || !(await isHealthy(state.url))) return null
  return { url: new URL(state.url), key }
}

/** Under the lock: whoever waited for it finds what the one before has started. */
async function open(options: BundledServiceOptions): Promise<BundledService> {
  const found = await findService(options)
  if (found !== null) return found
  const { home, databaseUrl } = options
  await end(home)
  const known = readKey(home)
  const [url, issued] = await Promise.all([
    start(options),
    known === null ? issueKey(home, databaseUrl) : known,
  ])
  // The database may be another than the one that the key was issued in.
  const good = known === null || (await isGoodKey(url, issued))
  return { url: new URL(url), key: good ? issued : await issueKey(home, databaseUrl) }
}

async function start({ home, databaseUrl }: BundledServiceOptions): Promise<string> {
  const args = ['--port', String(await choosePort(home)), '--host', '127.0.0.1', '--log', 'none']
  const files = { out: join(home, 'service.out'), log: join(home, 'service.log') }
  const { pid, exit, letGo } = startDaemon({ job: 'service', args, home, databaseUrl }, files)
  const state = { url: null, pid, database: fingerprint(databaseUrl) }
  writeState(home, state)
  const deadline = Date.now() + patienceMs
  for (;;) {
    const [line, rest] = readIfThere(files.out)?.split('\n') ?? []
    if (line !== undefined && rest !== undefined) {
      const { url } = readyLine.parse(JSON.parse(line))
      writeState(home, { ...state, url })
      letGo()
      return url
    }
    if (exit() !== null || Date.now() > deadline) {
      await end(home)
      throw new Unreachable(
        `expected the bundled search service to start, got: ${readIfThere(files.log)?.trim().split('\n').at(-1) ?? 'nothing'}; the whole story is in ${files.log}`,
      )
    }
    await pause(25)
  }
}

/** The port of last time, for whoever has written it down. */
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

/** After a reboot the number may be another process's. */
function isOurs(pid: number | null): boolean {
  if (pid === null) return false
  const program = /[/\\]jobs[/\\]service\.[jt]s/
  return commandOf(pid)?.some((word) => program.test(word)) ?? false
}

async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(5_000) })
    await response.body?.cancel()
    return response.ok
  } catch {
    // Whatever the reason: it does not answer, and the caller starts another.
    return false
  }
}

function readState(home: string): State | null {
  const text = readIfThere(stateFile(home))
  return text === null ? null : shape.parse(JSON.parse(text))
}

function writeState(home: string, state: State): void {
  writePrivate(stateFile(home), `${JSON.stringify(state)}\n`)
}

function stateFile(home: string): string {
  return join(home, 'service.json')
}

function fingerprint(databaseUrl: string): string {
  return hash('sha256', databaseUrl, 'hex').slice(0, 32)
}
