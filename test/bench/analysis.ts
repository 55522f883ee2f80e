// Cost of questions and views. Histories are generated with SQL: one of a thousand queries over thirty nights, and two
// of three million results each (many queries, many nights). Each question is asked and each view is read completely.
import type { Pool } from 'pg'
import { formatTable } from '../../src/base/cli/text.ts'
import { finishDays } from '../../src/core/nights/finish.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { askLibrary, measure, readWholeViews, type AskedFigures } from './asked.ts'
import type { Ground } from './ground.ts'
import { makeHistory } from './history.ts'

/** Size of the history. */
export interface HistorySize {
  readonly name: string
  readonly queries: number
  readonly nights: number
}

export interface HistoryFigures extends HistorySize {
  readonly results: number
  readonly fillSeconds: number
  /** Seconds of CPU for storing a day, as the mean over all days. */
  readonly finishCpu: number
  readonly questions: readonly AskedFigures[]
  /** The same questions about nine tenths of the queries. */
  readonly sliced: readonly AskedFigures[]
  readonly views: readonly AskedFigures[]
}

/** Three hundred thousand results, and three million in two forms. */
const sizes = {
  short: [{ name: 'tiny', queries: 100, nights: 30 }],
  full: [
    { name: 'small', queries: 1_000, nights: 30 },
    { name: 'wide', queries: 10_000, nights: 30 },
    { name: 'long', queries: 1_000, nights: 300 },
  ],
} as const satisfies Record<string, readonly HistorySize[]>

/** Fills databases with histories, asks every question of the library and reads every view of each. */
export async function benchAnalysis(
  ground: Ground,
  { short, say }: { readonly short: boolean; readonly say: (line: string) => void },
): Promise<readonly HistoryFigures[]> {
  const figures: HistoryFigures[] = []
  for (const size of short ? sizes.short : sizes.full) {
    const url = await ground.freshUrl()
    say(`making ${size.queries} queries over ${size.nights} nights`)
    const pool = openPool(url, { name: 'bench', max: 1 })
    try {
      figures.push(await benchHistory(pool, size))
    } finally {
      await pool.end()
    }
    await ground.drop(url)
  }
  return figures
}

async function benchHistory(pool: Pool, size: HistorySize): Promise<HistoryFigures> {
  const began = performance.now()
  await makeHistory(pool, size)
  const fillSeconds = (performance.now() - began) / 1000
  const finish = await measure(pool, 'finish', () => finishDays(openDatabase(pool)))
  await pool.query(
    'vacuum analyze finished_days, finished_labels, finished_queries, finished_shares, finished_steps, finished_stays, finished_losses, finished_answers, finished_groups, finished_related, finished_costs, finished_outcomes, finished_keywords',
  )
  const { rows } = await pool.query<{ results: number }>(
    'select count(*) as results from organic_results',
  )
  return {
    ...size,
    fillSeconds,
    finishCpu: finish.cpu / size.nights,
    results: rows[0]?.results ?? 0,
    questions: await askLibrary(pool),
    sliced: await askLibrary(pool, { device: 'desktop' }),
    views: await readWholeViews(pool),
  }
}

/** Formats the figures for people. */
export function describeAnalysis(histories: readonly HistoryFigures[]): string {
  const heads = ['', ...histories.map(({ name, results }) => `${name}: ${results}`)]
  const right = heads.slice(1)
  const table = (read: (history: HistoryFigures) => readonly AskedFigures[]) => {
    const names = new Set(histories.flatMap((history) => read(history).map(({ name }) => name)))
    const rows = [...names].map((name) => [
      name,
      ...histories.map((history) => read(history).find((one) => one.name === name)?.cpu ?? 0),
    ])
    // The most expensive first, by the last history.
    const sorted = rows.toSorted((a, b) => Number(b.at(-1)) - Number(a.at(-1)))
    const shown = sorted.map(([name = '', ...cpu]) => [
      String(name),
      ...cpu.map((value) => Number(value).toFixed(2)),
    ])
    return formatTable(heads, shown, { right })
  }
  return [
    'CPU seconds of each question at its defaults, by results',
    table(({ questions }) => questions),
    '\nCPU seconds of each question about desktop queries, which are nine tenths of all',
    table(({ sliced }) => sliced),
    '\nCPU seconds of each view from end to end',
    table(({ views }) => views),
    `\nCPU seconds to keep a day: ${histories.map(({ name, finishCpu }) => `${name} ${finishCpu.toFixed(2)}`).join(', ')}; seconds to fill: ${histories.map(({ name, fillSeconds }) => `${name} ${fillSeconds.toFixed(0)}`).join(', ')}`,
  ].join('\n')
}
