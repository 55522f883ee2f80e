// await seed(mill, 'seeds', ['shoes', 'boots']) → a list with these queries, planned like a file and answered by the
// API; `typed({ credits: 20 })` is an order for it; `buyRounds(mill, order)` expands and works until nothing is left.
import { sql } from 'kysely'
import { planList, queueRun } from '../../../src/core/enqueue/planning.ts'
import { readReading } from '../../../src/core/lists/options.ts'
import {
  expand,
  type ExpandOrder,
  type ExpandOutcome,
  type ExpandPrompts,
} from '../../../src/features/expand/expand.ts'
import { readOrder } from '../../../src/features/expand/command.ts'
import { verifyPromises } from '../../support/promises.ts'
import type { TestMill } from '../../support/mill.ts'

export const silent: ExpandPrompts = { preview: false, show: () => undefined }

export async function plant(mill: TestMill, list: string, lines: readonly string[]): Promise<void> {
  const text = `${lines.join('\n')}\n`
  const { run } = await planList(mill, {
    list,
    from: {
      kind: 'stream',
      stream: (async function* () {
        yield Buffer.from(text)
      })(),
    },
    reading: readReading({}),
    kind: 'manual',
    runDate: '2026-01-05',
    budget: undefined,
    maxAgeMs: 0,
    into: null,
  })
  await queueRun(mill, await mill.queue(), run)
}

export async function seed(mill: TestMill, list: string, texts: readonly string[]): Promise<void> {
  await plant(mill, list, ['query', ...texts])
  await mill.drain()
}

export function typed(more: {
  list?: string
  credits: number
  depth?: number
  match?: string[]
}): ExpandOrder {
  const { list = 'seeds', credits, depth = 1, match = [] } = more
  return readOrder({ list, credits: String(credits), depth: String(depth), match })
}

/** Repeats the command and lets workers process the queue, until there is nothing to do. */
export async function buyRounds(
  mill: TestMill,
  order: ExpandOrder,
): Promise<readonly ExpandOutcome[]> {
  const outcomes: ExpandOutcome[] = []
  for (;;) {
    const outcome = await expand(mill, order, silent)
    outcomes.push(outcome)
    if (outcome.kind !== 'queued' && outcome.kind !== 'waiting') return outcomes
    if (outcomes.length > 30) throw new Error('expected an end')
    await mill.drain()
  }
}

export async function rowsOf<Row>({ db }: TestMill, text: string): Promise<readonly Row[]> {
  return (await sql.raw<Row>(text).execute(db)).rows
}

/** Names of violated checks. */
export async function broken({ db }: TestMill): Promise<string[]> {
  return (await verifyPromises(db)).filter(({ ok }) => !ok).map(({ name }) => name)
}
