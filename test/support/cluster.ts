// const { primary, standby } = await openCluster(folder): a server and its standby, from Debian's PostgreSQL. Used for
// replication tests, because the tests' own server has no standby.
import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../src/base/embedded/process.ts'
import { clusters } from './parts.ts'

const call = promisify(execFile)
const newest = existsSync(clusters) ? Math.max(0, ...readdirSync(clusters).map(Number)) : 0
const bin = join(clusters, String(newest), 'bin')
const nobody = 65_534
const asUser = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

const tool = (name: string, ...args: readonly string[]) =>
  call(join(bin, name), args, { cwd: '/', ...asUser })

/** One server of a cluster. */
export interface ClusterServer {
  readonly url: string
  readonly kill: () => Promise<void>
  readonly promote: () => Promise<void>
}

async function startServer(data: string, port: number): Promise<ClusterServer> {
  const options = `-p ${port} -h 127.0.0.1 -k '' -c fsync=off -c jit=off -c max_connections=50`
  await tool('pg_ctl', '-D', data, '-w', '-l', `${data}.log`, '-o', options, 'start')
  return {
    url: `postgres://tests@127.0.0.1:${port}/postgres`,
    kill: async () => {
      if (!existsSync(join(data, 'postmaster.pid'))) return
      await tool('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop')
    },
    promote: async () => void (await tool('pg_ctl', '-D', data, '-w', 'promote')),
  }
}

/** A server, to which a standby can be added once it contains data. */
export async function openCluster(folder: string) {
  const servers = join(folder, 'servers')
  mkdirSync(servers, { mode: 0o700 })
  if (process.getuid?.() === 0) chownSync(servers, nobody, nobody)
  const data = join(servers, 'primary')
  await tool('initdb', '-D', data, '-U', 'tests', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8')
  const primary = await startServer(data, await freePort())
  const started = [primary]
  return {
    primary,
    /** `source` is the address by which it reaches the server. */
    addStandby: async (source = primary.url) => {
      const copy = join(servers, 'standby')
      // prettier-ignore
      await tool('pg_basebackup', '-D', copy, '-R', '-X', 'stream', '-c', 'fast', '-d', `${source}?application_name=standby`)
      const standby = await startServer(copy, await freePort())
      started.push(standby)
      return standby
    },
    close: async () => {
      for (const server of started.toReversed()) await server.kill()
    },
  }
}
