import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Unreachable } from '../shared/errors.ts'
import { findBinaries, prepareBinaries } from './binaries.ts'
import { serverUser } from './child.ts'
import { lastWords, makeCluster, startCluster, stopCluster } from './cluster.ts'
import type { Server, Tuning } from './cluster.ts'
import { contact, createDatabase } from './contact.ts'
import { openHome, ownerOf } from './files.ts'
import { withLock } from './lock.ts'
import { choosePlace } from './place.ts'
import { becomesFree, freePort } from './port.ts'
import { clearMark, findPostmaster } from './postmaster.ts'
import { checkMajor, readState, urlOf, writeState, type State } from './state.ts'
import { pause } from '../shared/waiting.ts'

export interface StartOptions {
  /** Says a line before the first start, which takes about a second. */
  readonly say?: (line: string) => void
  readonly tuning?: Tuning
  /** How long a server may take that starts, or mends itself after a crash. */
  readonly patienceMs?: number
}

export interface Postgres {
  readonly url: string
  /** The data folder. */
  readonly data: string
  /** False: it ran already. */
  readonly started: boolean
}

export interface PostgresStatus {
  readonly running: boolean
  /** Null before the first start. */
  readonly url: string | null
  readonly data: string | null
}

const usualPatienceMs = 30_000

/** The embedded PostgreSQL of this home, started when it does not run yet; it goes on after the command. */
export async function ensurePostgres(
  givenHome: string,
  options: StartOptions = {},
): Promise<Postgres> {
  const home = openHome(givenHome)
  const known = readState(home)
  if (known !== null && (await isRunning(known))) return describe(known, false)
  return withLock(join(home, 'postgres.lock'), async () => {
    const state = readState(home)
    if (state !== null && (await isRunning(state))) return describe(state, false)
    return describe(await start(home, state, options), true)
  })
}

/** Ends the server of this home. False: none ran. */
export async function stopPostgres(givenHome: string): Promise<boolean> {
  const home = openHome(givenHome)
  return withLock(join(home, 'postgres.lock'), async () => {
    const state = readState(home)
    if (state === null || findPostmaster(state.data) === null) return false
    await stopCluster(await prepareServer(state.data), state.data)
    return true
  })
}

/** Looks without starting anything. */
export async function postgresStatus(home: string): Promise<PostgresStatus> {
  const state = existsSync(home) ? readState(openHome(home)) : null
  if (state === null) return { running: false, url: null, data: null }
  return { running: await isRunning(state), url: urlOf(state), data: state.data }
}

/** Another program on our port may take a connection and keep silent: it is not asked while no server of ours lives. */
async function isRunning(state: State): Promise<boolean> {
  return findPostmaster(state.data) !== null && (await contact(state)) === 'ours'
}

function describe(state: State, started: boolean): Postgres {
  return { url: urlOf(state), data: state.data, started }
}

async function prepareServer(data: string): Promise<Server> {
  const user = serverUser(ownerOf(data))
  return { user, binaries: await prepareBinaries(findBinaries(), user, dirname(data)) }
}

async function start(home: string, old: State | null, options: StartOptions): Promise<State> {
  const found = findBinaries()
  let state = old
  if (state === null || !existsSync(state.data)) {
    options.say?.('starting a PostgreSQL of our own (first run, about a second)')
    state = await makeData(home, options.tuning ?? {})
  }
  checkMajor(state.data, found.major)
  const patienceMs = options.patienceMs ?? usualPatienceMs
  const running = await waitForRunning(state, patienceMs)
  if (running !== null) {
    writeState(home, running)
    return running
  }
  return startFresh(home, state, { tuning: options.tuning ?? {}, patienceMs })
}

async function makeData(home: string, tuning: Tuning): Promise<State> {
  const place = await choosePlace(home, serverUser(null))
  const data = join(place, 'postgres')
  const password = randomBytes(24).toString('base64url')
  const state = { data, port: await freePort(), password }
  await makeCluster(await prepareServer(data), data, { password, tuning })
  writeState(home, state)
  return state
}

/** A server that lives and does not answer yet is starting, or mending itself after a crash: it gets time. */
async function waitForRunning(state: State, patienceMs: number): Promise<State | null> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const postmaster = findPostmaster(state.data)
    if (postmaster === null) return null
    const running = { ...state, port: postmaster.port === 0 ? state.port : postmaster.port }
    const answer = await contact(running)
    if (answer === 'empty') await createDatabase(running)
    if (answer === 'ours' || answer === 'empty') return running
    if (Date.now() > deadline) {
      throw new Unreachable(
        `expected the embedded PostgreSQL (process ${postmaster.pid}) to answer on port ${running.port}, got silence for ${patienceMs / 1000} s: ${lastWords(state.data)}; type npm run stack -- stop, then try again`,
      )
    }
    await pause(50)
  }
}

/** Two things may stand in the way for a moment: a port taken in between, and children of a killed server. */
async function startFresh(
  home: string,
  old: State,
  { tuning, patienceMs }: { tuning: Tuning; patienceMs: number },
): Promise<State> {
  const server = await prepareServer(old.data)
  const deadline = Date.now() + patienceMs
  for (;;) {
    const port = (await becomesFree(old.port)) ? old.port : await freePort()
    const state = { ...old, port }
    clearMark(state.data)
    writeState(home, state)
    if (await startCluster(server, state, tuning)) {
      await createDatabase(state)
      return state
    }
    if (Date.now() > deadline) {
      throw new Unreachable(
        `expected the embedded PostgreSQL to start on ${state.data}, got: ${lastWords(state.data)}; the whole story is in ${join(state.data, 'server.log')}`,
      )
    }
    await pause(200)
  }
}
