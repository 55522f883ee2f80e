// const sites = await layWires(ground, mill, { hosts: 8, eachWayMs: 1 }): for each host, its own delayed connections to
// both servers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { root } from '../../src/base/root.ts'
import type { BenchMill, Ground } from './ground.ts'
import { median } from './meter.ts'

/** Servers of a host, reached over its own connections. */
export interface Site {
  readonly databaseUrl: string
  readonly redisUrl?: string
}

export async function layWires(
  { redis }: Ground,
  mill: BenchMill,
  { hosts, eachWayMs }: { hosts: number; eachWayMs: number },
) {
  const database = new URL(mill.databaseUrl)
  const ends = [`${database.hostname}:${database.port}`]
  if (redis !== null) ends.push(`127.0.0.1:${redis.port}`)
  const script = join(root, 'test', 'bench', 'wires.ts')
  const servers = Array.from({ length: hosts }, () => ends).flat()
  const args = ['--import', 'tsx', script, String(eachWayMs), ...servers]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = await once(createInterface(child.stdout), 'line')
  const ports = JSON.parse(String(line)) as number[]
  const all = Array.from({ length: hosts }, (_, host): Site => {
    const [first, second] = ports.slice(host * ends.length)
    const databaseUrl = Object.assign(new URL(database), {
      hostname: '127.0.0.1',
      port: String(first),
    }).href
    return redis === null
      ? { databaseUrl }
      : { databaseUrl, redisUrl: `redis://127.0.0.1:${second}` }
  })
  const tell = (word: string, host: number) => {
    for (const [number] of ends.entries()) {
      child.stdin.write(`${word} ${host * ends.length + number}\n`)
    }
  }
  return {
    all,
    hold: (host: number) => tell('hold', host),
    mend: (host: number) => tell('mend', host),
    close: () => child.kill('SIGTERM'),
  }
}

/** Measured round trip of a statement that does nothing, in milliseconds. */
export async function tripOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const times: number[] = []
  for (let round = 0; round < 30; round += 1) {
    const began = performance.now()
    await client.query('select 1')
    times.push(performance.now() - began)
  }
  await client.end()
  return median(times)
}
