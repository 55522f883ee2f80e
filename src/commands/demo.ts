import { join } from 'node:path'
import { planList, queueRun, type ListPlan } from './enqueue/planning.ts'
import { noDefaults } from '../lists/requests.ts'
import type { Mill } from './mill/mill.ts'
import { root } from '../shared/root.ts'
import type { Summary } from './work/tally.ts'
import { work } from './work/work.ts'
import { localDate } from '../shared/time/zone.ts'
import { dayMs } from '../shared/time/duration.ts'

export interface DemoOptions {
  readonly signal: AbortSignal
  readonly tell: (line: string) => void
}

/** The sample list, from file to answered tables, as enqueue and work do it. */
export async function runSample(mill: Mill, options: DemoOptions): Promise<Summary> {
  const runDate = localDate(mill.config.zone, new Date())
  await planSample(mill, {
    list: 'keywords',
    kind: 'manual',
    runDate,
    maxAgeMs: mill.config.maxAgeMs,
  })
  return drain(mill, options)
}

/** One run a day, oldest first, through the pipeline itself; `setDay` tells the service which day it is. */
export async function runNights(
  mill: Mill,
  { nights, setDay, ...options }: DemoOptions & { nights: number; setDay: (day: Date) => void },
): Promise<Summary | null> {
  let last: Summary | null = null
  for (let ago = nights - 1; ago >= 0 && !options.signal.aborted; ago -= 1) {
    const day = new Date(Date.now() - ago * dayMs)
    setDay(day)
    const runDate = localDate(mill.config.zone, day)
    // Dates of the past are bought today: the list's name marks them as a history that was made, not lived.
    await planSample(mill, { list: 'demo-history', kind: 'nightly', runDate, maxAgeMs: 0 })
    last = await drain(mill, options)
    options.tell(`${runDate}: ${last.answered} answered`)
    if (last.finish !== 'completed') break
  }
  return last
}

interface Sample {
  readonly list: string
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  readonly maxAgeMs: number
}

async function planSample(mill: Mill, sample: Sample): Promise<ListPlan> {
  const shown = 'inputs/keywords.csv'
  const plan = await planList(
    { db: mill.db, market: mill.market },
    {
      ...sample,
      from: { kind: 'file', path: join(root, shown), shown },
      reading: { matchTypes: 'keep', yes: false, defaults: noDefaults },
      budget: undefined,
      into: null,
    },
  )
  await queueRun({ db: mill.db }, await mill.queue(), plan.run)
  return plan
}

function drain(mill: Mill, options: DemoOptions): Promise<Summary> {
  return work(mill, { drain: true, lanes: mill.config.concurrency, ...options })
}
