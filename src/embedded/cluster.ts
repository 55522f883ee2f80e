import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Unreachable } from '../shared/errors.ts'
import { program, type Binaries } from './binaries.ts'
import { runAs, type User } from './child.ts'
import { readIfThere } from './files.ts'
import type { State } from './state.ts'

export interface Server {
  readonly binaries: Binaries
  readonly user: User
}

/** Settings of the server beyond its own defaults. */
export type Tuning = Readonly<Record<string, string>>

const usual: Tuning = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '192MB',
  max_connections: '100',
  // Short statements only: compiling them costs more than it saves.
  jit: 'off',
  random_page_cost: '1.1',
  // Nobody copies this server live, so its log carries what a crash needs and no more.
  wal_level: 'minimal',
  max_wal_senders: '0',
  checkpoint_timeout: '15min',
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

const logLimitBytes = 8_000_000

/** Makes an empty cluster in one step: a crash in mid-work leaves no half of one under the final name. */
export async function makeCluster(
  server: Server,
  data: string,
  { password, tuning }: { password: string; tuning: Tuning },
): Promise<void> {
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
      // Whatever the locale of the machine: the same order of rows everywhere, and every language fits.
      '--encoding=UTF8',
      '--no-locale',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(tuning['fsync'] === 'off' ? ['--no-sync'] : []),
    ])
    if (ended.code !== 0) {
      throw new Unreachable(
        `expected initdb to make a database in ${dirname(data)}, got: ${ended.output}; look at the free space and the rights of the folder`,
      )
    }
    renameSync(draft, data)
  } finally {
    rmSync(secret, { force: true })
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Starts the server apart from this command: Ctrl-C here does not reach it. */
export async function startCluster(server: Server, state: State, tuning: Tuning): Promise<boolean> {
  const log = join(state.data, 'server.log')
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size > logLimitBytes) rmSync(log)
  const settings = Object.entries({ ...usual, ...tuning, port: String(state.port) })
  const options = settings.map(([name, value]) => `-c ${name}='${value}'`).join(' ')
  const ended = await runAs(server.user, program(server.binaries, 'pg_ctl'), [
    'start',
    '--wait',
    '--timeout=60',
    `--pgdata=${state.data}`,
    `--log=${log}`,
    `--options=${options}`,
  ])
  return ended.code === 0
}

/** Ends the server; its data are safe however it ends. */
export async function stopCluster(server: Server, data: string): Promise<void> {
  const args = ['stop', '--wait', '--timeout=60', '--mode=fast', `--pgdata=${data}`]
  const ended = await runAs(server.user, program(server.binaries, 'pg_ctl'), args)
  if (ended.code !== 0) {
    throw new Unreachable(`expected the embedded PostgreSQL to stop, got: ${ended.output}`)
  }
}

/** What the server said last, for a person who has to help it. */
export function lastWords(data: string): string {
  const lines = readIfThere(join(data, 'server.log'))?.trim().split('\n') ?? []
  return lines.slice(-3).join(' / ')
}
