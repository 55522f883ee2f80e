import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'csv-parse'
import { processEnvironment } from '../../src/base/config.ts'
import { openList } from '../../src/core/lists/read.ts'
import { noDefaults } from '../../src/core/lists/options.ts'
import { openFile } from '../../src/core/lists/source.ts'
import { migrateAll } from '../../src/core/mill.ts'
import { openQueue } from '../../src/core/queue/slice-jobs.ts'
import { root } from '../../src/base/root.ts'
import { openDatabase, openPool, type Pool } from '../../src/base/database/database.ts'
import { scriptOf } from './memory.ts'
import { memoryOf } from './meter.ts'
import { benchPacked, type PackedFigures } from './packed.ts'

export interface ListsFigures {
  readonly rows: number
  readonly reading: {
    readonly csv_parse_rows_per_second: number
    readonly our_rows_per_second: number
    /** Rows per second of reading and canonicalising, divided by those of plain csv-parse with columns. */
    readonly ratio: number
  }
  /** Compressed lists, compared with the same rows as CSV. */
  readonly packed: readonly PackedFigures[]
  readonly enqueue: readonly {
    readonly rows: number
    readonly seconds: number
    /** Only inserting the same tasks and adding the same slices to the queue. */
    readonly alone_seconds: number
    readonly ratio: number
    /** The same with tasks written by the query builder, a thousand rows of values per statement. */
    readonly alone_by_values_seconds: number
    readonly ratio_by_values: number
    /** The same list again after its run is done, as on the next night. */
    readonly again_seconds: number
    readonly peak_rss_mb: number | null
  }[]
}

export interface ListsBench {
  /** A server on which a temporary database may be created. */
  readonly databaseUrl: string
  readonly rows: number
  readonly say: (line: string) => void
}

/** Measures how fast lists are read and enqueued, compared with the plain libraries on the same machine. */
export async function benchLists({ databaseUrl, rows, say }: ListsBench): Promise<ListsFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'querymill-bench-'))
  try {
    const files = await Promise.all(
      [Math.ceil(rows / 10), rows].map((size) => writeList(folder, size)),
    )
    const [smaller, largest] = files
    const reading = await benchReading(largest?.path ?? '')
    say(
      `reading   ${reading.our_rows_per_second} rows/s, bare csv-parse ${reading.csv_parse_rows_per_second}: ${reading.ratio}`,
    )
    const packed = await benchPacked(largest?.path ?? '', smaller?.path ?? '')
    for (const { kind, rows: read, ratio, peak_rss_mb: peak, csv_peak_rss_mb: bare } of packed) {
      say(
        `packed    ${read} rows as ${kind}: ${ratio} of the same as CSV; peak ${peak} MB, CSV ${bare} MB`,
      )
    }
    const enqueue: ListsFigures['enqueue'][number][] = []
    for (const file of files) {
      const figures = await withDatabase(databaseUrl, async (url) => benchEnqueue(url, file))
      say(
        `enqueue   ${figures.rows} rows in ${figures.seconds} s, their tasks and jobs alone ${figures.alone_seconds} s: ${figures.ratio} (as values ${figures.alone_by_values_seconds} s: ${figures.ratio_by_values}); once more in ${figures.again_seconds} s; peak ${figures.peak_rss_mb ?? '?'} MB`,
      )
      enqueue.push(figures)
    }
    return { rows, reading, packed, enqueue }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function writeList(folder: string, rows: number): Promise<{ path: string; rows: number }> {
  const path = join(folder, `list-${rows}.csv`)
  const file = await open(path, 'w')
  await file.write('keyword,volume,gl\n')
  for (let start = 0; start < rows; start += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, rows - start) }, (_, index) => {
      const number = start + index
      return `running shoes number ${number} for rainy days,${number % 1000},us\n`
    })
    await file.write(lines.join(''))
  }
  await file.close()
  return { path, rows }
}

async function benchReading(path: string): Promise<ListsFigures['reading']> {
  // One warm-up round each, then the better of two, because the first round includes compilation.
  const bare: number[] = []
  const ours: number[] = []
  for (let round = 0; round < 3; round++) {
    bare.push(await rate(() => readBare(path)))
    ours.push(await rate(() => readOurs(path)))
  }
  const bareRate = Math.max(...bare.slice(1))
  const ourRate = Math.max(...ours.slice(1))
  return {
    csv_parse_rows_per_second: Math.round(bareRate),
    our_rows_per_second: Math.round(ourRate),
    ratio: round2(ourRate / bareRate),
  }
}

async function rate(read: () => Promise<number>): Promise<number> {
  const started = performance.now()
  const rows = await read()
  return rows / ((performance.now() - started) / 1000)
}

async function readBare(path: string): Promise<number> {
  let rows = 0
  for await (const _ of createReadStream(path).pipe(parse({ columns: true, bom: true }))) rows++
  return rows
}

async function readOurs(path: string): Promise<number> {
  const source = await openFile(path, path)
  const list = await openList(source, { matchTypes: 'keep', defaults: noDefaults })
  let rows = 0
  for await (const { queries } of list.pieces) rows += queries.length
  await source.close()
  return rows
}

async function withDatabase<T>(server: string, work: (url: string) => Promise<T>): Promise<T> {
  const name = `querymill_bench_${randomBytes(4).toString('hex')}`
  const admin = openPool(server, { name: 'bench', max: 1 })
  const url = new URL(server)
  url.pathname = `/${name}`
  try {
    await admin.query(`create database ${name} template template0`)
    const pool = openPool(url.href, { name: 'bench', max: 1 })
    await migrateAll(pool, url.href)
    await pool.end()
    return await work(url.href)
  } finally {
    await admin.query(`drop database if exists ${name} with (force)`)
    await admin.end()
  }
}

async function benchEnqueue(
  url: string,
  { path, rows }: { path: string; rows: number },
): Promise<ListsFigures['enqueue'][number]> {
  const { seconds, peakRssMb } = await enqueueFile(url, path)
  const alone = await insertAlone(url, addByArrays)
  const byValues = await insertAlone(url, addByValues)
  await endRuns(url)
  const again = await enqueueFile(url, path)
  return {
    rows,
    seconds: round2(seconds),
    alone_seconds: round2(alone),
    ratio: round2(alone / seconds),
    alone_by_values_seconds: round2(byValues),
    ratio_by_values: round2(byValues / seconds),
    again_seconds: round2(again.seconds),
    peak_rss_mb: Math.max(peakRssMb ?? 0, again.peakRssMb ?? 0) || null,
  }
}

/** As if all tasks had been answered and the server had analyzed the tables. */
async function endRuns(url: string): Promise<void> {
  const pool = openPool(url, { name: 'bench', max: 1 })
  await pool.query("update runs set state = 'done', finished_at = now()")
  await pool.query('update slices set done_at = now()')
  await pool.query('vacuum analyze')
  await pool.end()
}

/** Runs the command in a separate process, so that only its own memory is measured. */
async function enqueueFile(
  url: string,
  path: string,
): Promise<{ seconds: number; peakRssMb: number | null }> {
  const started = performance.now()
  const [, ...args] = scriptOf('enqueue')
  const child = spawn(process.execPath, [...args, path, '--yes', '--json'], {
    cwd: root,
    env: { ...processEnvironment(), DATABASE_URL: url, REDIS_URL: '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let complaint = ''
  child.stderr.on('data', (piece: Buffer) => (complaint = piece.toString()))
  let peak: number | null = null
  const watch = setInterval(() => {
    peak = memoryOf(child.pid ?? 0)?.largest ?? peak
  }, 50)
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  clearInterval(watch)
  if (code !== 0) throw new Error(`expected the enqueue to end with 0, got ${code}: ${complaint}`)
  return { seconds: (performance.now() - started) / 1000, peakRssMb: peak }
}

/** Writes the same tasks and slices as the previous run, and nothing else. */
async function insertAlone(url: string, addTasks: AddTasks): Promise<number> {
  const pool = openPool(url, { name: 'bench', max: 2 })
  const queuePool = openPool(url, { name: 'bench queue', schema: 'bullmq', max: 4 })
  const queue = await openQueue({ pool: queuePool }, 'bench')
  const tasks = await pool.query<{ query_id: string; slice: number }>(
    'select query_id, slice from tasks where run_id = (select min(run_id) from tasks) order by id',
  )
  const slices = await pool.query<{ slice: number; priority: number }>(
    'select slice, priority from slices order by run_id, slice',
  )
  const { rows: made } = await pool.query<{ id: number }>(
    `insert into runs (list_id, run_date, kind, state)
     select list_id, run_date, 'nightly', 'open' from runs limit 1 returning id`,
  )
  const run = made[0]?.id ?? 0
  const started = performance.now()
  await addTasks(pool, run, tasks.rows)
  for (let start = 0; start < slices.rows.length; start += 1000) {
    const some = slices.rows.slice(start, start + 1000)
    await queue.add(
      some.map(({ slice, priority }) => ({ run, slice, round: 0, priority, turn: null })),
    )
  }
  const seconds = (performance.now() - started) / 1000
  await queue.close()
  await queuePool.end()
  await pool.end()
  return seconds
}

type AddTasks = (
  pool: Pool,
  run: number,
  tasks: readonly { query_id: string; slice: number }[],
) => Promise<void>

async function addByArrays(...[pool, run, tasks]: Parameters<AddTasks>): Promise<void> {
  for (let start = 0; start < tasks.length; start += 5000) {
    const some = tasks.slice(start, start + 5000)
    await pool.query(
      `insert into tasks (run_id, query_id, slice)
       select $1, * from unnest($2::uuid[], $3::integer[])`,
      [run, some.map((row) => row.query_id), some.map((row) => row.slice)],
    )
  }
}

async function addByValues(...[pool, run, tasks]: Parameters<AddTasks>): Promise<void> {
  const db = openDatabase(pool)
  for (let start = 0; start < tasks.length; start += 1000) {
    const some = tasks.slice(start, start + 1000)
    await db
      .insertInto('tasks')
      .values(some.map(({ query_id, slice }) => ({ run_id: run, query_id, slice })))
      .execute()
  }
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
