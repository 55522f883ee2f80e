// Cost of questions and views: CPU of the single connection, as reported by the system, not wall time.
import type { Pool } from 'pg'
import { readBatches } from '../../src/features/analysis/ask.ts'
import { findQuestion, readQuestions } from '../../src/features/analysis/library.ts'
import { cpuOf } from './meter.ts'

export interface AskedFigures {
  readonly name: string
  readonly cpu: number
  readonly seconds: number
  readonly rows: number
}

/** Required parameters of questions, taken from the measured history. */
const told: Readonly<Record<string, string>> = {
  q: 'question 77 about topic 7',
  word: 'topic 7',
  rival: 'site-1.example.com',
  page: 'https://www.site-1.example.com/every-0/page-1',
}

// Without parallel workers, one connection does all the work, and its CPU is the total.
const alone = 'set max_parallel_workers_per_gather = 0'

/**
 * Asks each question of the library with its defaults, as `npm run sql` does. If a device is given, asks only about the
 * queries for that device, and leaves out the questions that accept no device.
 */
export async function askLibrary(
  pool: Pool,
  { only = [], device }: { readonly only?: readonly string[]; readonly device?: string } = {},
): Promise<readonly AskedFigures[]> {
  const asked = readQuestions()
    .filter(({ name }) => only.length === 0 || only.includes(name))
    .filter(({ narrows }) => device === undefined || narrows.includes('device'))
  const figures: AskedFigures[] = []
  for (const { name, parameters } of asked) {
    const flags = parameters
      .filter(({ fallback }) => fallback === undefined)
      .flatMap((parameter) => [`--${parameter.name}`, told[parameter.name] ?? ''])
    const slice = device === undefined ? [] : ['--device', device]
    const question = findQuestion(name, [...flags, ...slice])
    figures.push(
      await measure(pool, name, async () => {
        let rows = 0
        const inquiry = { ...question, timeoutMs: 0, warn: () => undefined }
        for await (const batch of readBatches(pool, inquiry)) rows += batch.rows.length
        return rows
      }),
    )
  }
  return figures
}

/** Reads every analyst view completely, with every column: a plain count would leave out unused columns. */
export async function readWholeViews(
  pool: Pool,
  only: readonly string[] = [],
): Promise<readonly AskedFigures[]> {
  const { rows } = await pool.query<{ view: string }>(
    "select viewname as view from pg_views where schemaname = 'analysis' order by viewname",
  )
  const figures: AskedFigures[] = []
  for (const { view } of rows) {
    if (only.length > 0 && !only.includes(view)) continue
    figures.push(
      await measure(pool, view, async () => {
        const text = `select whole from analysis.${view} as whole`
        const counted = await pool.query<{ rows: number }>(
          `select count(whole) as rows from (${text} offset 0) as whole`,
        )
        return counted.rows[0]?.rows ?? 0
      }),
    )
  }
  return figures
}

/** Runs work on the only connection of a pool, and returns the CPU time of its server process. */
export async function measure(
  pool: Pool,
  name: string,
  work: () => Promise<number>,
): Promise<AskedFigures> {
  await pool.query(`${alone}; set jit = off; set work_mem = '64MB'`)
  const { rows: own } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const pid = own[0]?.pid ?? 0
  const before = cpuOf(pid)
  const began = performance.now()
  const rows = await work()
  const seconds = (performance.now() - began) / 1000
  return { name, rows, seconds, cpu: (cpuOf(pid) - before) / 1e6 }
}
