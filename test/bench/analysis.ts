// What the views cost: a history of bench.queries queries over bench.nights nights, made by SQL, then every view whole.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { formatTable } from '../../src/shared/terminal/table.ts'
import { root } from '../../src/shared/root.ts'
import { openPool } from '../../src/store/database.ts'
import { startMeter } from './meter.ts'

export interface AnalysisBench {
  readonly queries: number
  readonly nights: number
  readonly results: number
  /** All rows and columns of each view, dearest first. */
  readonly views: readonly ViewFigures[]
  /** Most seconds of the clock that a promised view took. */
  readonly slowest: number
  /** Most seconds of CPU that a promised view took: a busy machine changes these less. */
  readonly dearest: number
}

export interface ViewFigures {
  readonly view: string
  readonly seconds: number
  readonly cpu: number
  /** Cores that others kept busy meanwhile. */
  readonly foreign: number
  readonly rows: number
  /** False: a good thing to have, without a promise about its speed. */
  readonly promised: boolean
}

/** The views with a promise: every one under two seconds for a thousand queries over thirty nights. */
const promised: readonly string[] = [
  'observations',
  'steps',
  'results',
  'ranks',
  'latest',
  'rank_history',
  'movers',
  'confirmed_losses',
  'position_buckets',
  'average_rank',
  'share_of_voice',
  'domain_coverage',
  'cannibalised_serps',
  'page_switches',
  'serp_overlap',
  'keyword_clusters',
  'keyword_hubs',
  'volatility',
  'volatility_nights',
  'entity_frequency',
  'entity_changes',
  'entity_pairs',
  'related_edges',
  'related_nodes',
  'frontier',
  'label_mix',
  'label_changes',
  'coverage',
  'freshness',
  'costs',
  'account_days',
]

export interface AnalysisBenchOptions {
  /** A migrated, empty database. */
  readonly databaseUrl: string
  /** Process number of its server, to tell the CPU it used. */
  readonly server?: number
  readonly queries?: number
  readonly nights?: number
  readonly say?: (line: string) => void
}

/** Fills an empty database with a history and reads every view of the analysts from end to end. */
export async function benchAnalysis(options: AnalysisBenchOptions): Promise<AnalysisBench> {
  const { databaseUrl, queries = 1000, nights = 30, say = () => undefined } = options
  const pool = openPool(databaseUrl, { name: 'bench', max: 1 })
  const client = await pool.connect()
  try {
    say(`making ${queries} queries over ${nights} nights`)
    await makeHistory(client, queries, nights)
    const results = await count(client, 'public.organic_results')
    const { rows } = await client.query<{ view: string }>(
      "select viewname as view from pg_views where schemaname = 'analysis' order by viewname",
    )
    // As `npm run sql` and the role of analysts have it.
    await client.query("set jit = off; set work_mem = '64MB'")
    const views: ViewFigures[] = []
    for (const { view } of rows) {
      const stop = startMeter(options.server === undefined ? {} : { postgres: options.server })
      const found = await count(client, `analysis.${view}`)
      const { seconds, postgres, foreign } = stop()
      const promise = promised.includes(view)
      views.push({ view, seconds, cpu: postgres / 1e6, foreign, rows: found, promised: promise })
    }
    const kept = views.filter((one) => one.promised)
    return {
      queries,
      nights,
      results,
      views: views.toSorted((a, b) => b.cpu - a.cpu || b.seconds - a.seconds),
      slowest: Math.max(...kept.map(({ seconds }) => seconds)),
      dearest: Math.max(...kept.map(({ cpu }) => cpu)),
    }
  } finally {
    client.release()
    await pool.end()
  }
}

/** The figures as people read them. */
export function describeAnalysis({ results, views, slowest, dearest }: AnalysisBench): string {
  const heads = ['view', 'seconds', 'cpu s', 'foreign', 'rows', 'promised']
  const rows = views.map((one) => [
    one.view,
    one.seconds.toFixed(2),
    one.cpu.toFixed(2),
    one.foreign.toFixed(2),
    one.rows,
    one.promised ? 'yes' : '',
  ])
  const table = formatTable(heads, rows, { right: heads.slice(1, 5) })
  return `${table}\n\n${results} results; the slowest promised view took ${slowest.toFixed(2)} s, the dearest ${dearest.toFixed(2)} s of CPU; foreign: cores that others kept busy meanwhile`
}

/** Straight into the tables: buying a million results takes longer than asking about them. */
async function makeHistory(client: PoolClient, queries: number, nights: number): Promise<void> {
  const text = readFileSync(join(root, 'test', 'bench', 'history.sql'), 'utf8')
  await client.query('begin')
  await client.query("select set_config('bench.queries', $1, true)", [String(queries)])
  await client.query("select set_config('bench.nights', $1, true)", [String(nights)])
  await client.query(text)
  await client.query('commit')
  await client.query('vacuum analyze')
}

/** All columns of all rows: a plain count would leave out whatever it does not need. */
async function count(client: PoolClient, relation: string): Promise<number> {
  const { rows } = await client.query<{ rows: number }>(
    `select count(whole) as rows from ${relation} as whole`,
  )
  return rows[0]?.rows ?? 0
}
