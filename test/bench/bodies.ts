// What a raw body costs, by the way it is kept:
//   node --import tsx test/bench/bodies.ts postgres://user@127.0.0.1:5432/scratch
// Linux only, with the server on this machine: processor time of the backend is read from /proc.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { sampleBody } from './sample.ts'

const batch = 64
const batches = 100
const ways = [
  { name: 'pglz', storage: 'extended', compression: 'pglz', gzip: false },
  { name: 'lz4', storage: 'extended', compression: 'lz4', gzip: false },
  { name: 'as it is', storage: 'external', compression: 'pglz', gzip: false },
  { name: 'gzip level 1', storage: 'external', compression: 'pglz', gzip: true },
] as const

const client = new pg.Client({ connectionString: process.argv[2] })
await client.connect()
const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
const pid = rows[0]?.pid ?? 0

function backendUs(): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

async function walPosition(): Promise<number> {
  const { rows: found } = await client.query<{ at: string }>(
    `select pg_current_wal_insert_lsn() - '0/0' as at`,
  )
  return Number(found[0]?.at)
}

const { rows: known } = await client.query<{ ways: readonly string[] }>(
  `select enumvals as ways from pg_settings where name = 'default_toast_compression'`,
)
// Some servers are built without one of these methods.
const here = ways.filter(({ compression }) => known[0]?.ways.includes(compression))

const bodies = Array.from({ length: batch * batches }, (_, index) => sampleBody(index))
for (const round of [1, 2, 3]) for (const way of here) await measure(way, round)
await client.end()

async function measure(way: (typeof ways)[number], round: number): Promise<void> {
  await client.query('create table kept (call_id bigint primary key, body bytea not null)')
  await client.query(`alter table kept alter column body set storage ${way.storage}`)
  await client.query(`alter table kept alter column body set compression ${way.compression}`)
  let nodeUs = 0
  const walBefore = await walPosition()
  const before = backendUs()
  for (let at = 0; at < bodies.length; at += batch) {
    const started = process.cpuUsage()
    const some = bodies
      .slice(at, at + batch)
      .map((body) => (way.gzip ? gzipSync(body, { level: 1 }) : body))
    const used = process.cpuUsage(started)
    nodeUs += used.user + used.system
    const sizes = some.map((body) => body.length)
    const starts = sizes.map(
      (_, index) => 1 + sizes.slice(0, index).reduce((sum, size) => sum + size, 0),
    )
    await client.query(
      `insert into kept
       select id, substring($4::bytea from start for size)
       from unnest($1::bigint[], $2::integer[], $3::integer[]) as given (id, start, size)`,
      [some.map((_, index) => at + index), starts, sizes, Buffer.concat(some)],
    )
  }
  const pgUs = backendUs() - before
  const wal = (await walPosition()) - walBefore
  const beforeRead = backendUs()
  await client.query('select sum(length(encode(body, $1))) from kept', ['escape'])
  const readUs = backendUs() - beforeRead
  const size = await client.query<{ bytes: string }>(
    `select pg_total_relation_size('kept') as bytes`,
  )
  const each = (total: number) => Math.round(total / bodies.length)
  process.stdout.write(
    `${[
      `round ${round}`,
      way.name.padEnd(14),
      `node ${each(nodeUs)} us`,
      `postgres ${each(pgUs)} us`,
      `read ${each(readUs)} us`,
      `log ${each(wal)} bytes`,
      `on disk ${each(Number(size.rows[0]?.bytes))} bytes of ${each(bodies.reduce((sum, body) => sum + body.length, 0))}`,
    ].join(' · ')}\n`,
  )
  await client.query('drop table kept')
}
