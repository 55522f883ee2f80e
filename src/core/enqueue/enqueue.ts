// Plans lists, estimates their cost, and queues their runs.

import { count } from '../../base/cli/text.ts'
import { reaching } from '../../base/database/trouble.ts'
import { Misuse, OverBudget } from '../../base/errors.ts'
import { rejectsPath, removeRejects, writeRejects } from '../lists/rejects.ts'
import { streamName } from '../lists/source.ts'
import type { Mill } from '../mill.ts'
import type { EnqueueFlags, Intake } from './flags.ts'
import { refuseUndecided } from './list-diff.ts'
import { rejectedLines } from './plan.ts'
import { planLists, type Plans, queueRun } from './planning.ts'
import { type EnqueueReport, planLines, reportOf } from './result.ts'
import { needsYes, type Totals } from './summary.ts'

interface EnqueuePrompts {
  readonly say: (line: string) => void
  readonly show: (line: string) => void
  readonly progress: (step: string) => void
  /** Asks a person for confirmation; null if nobody is present. */
  readonly ask: ((question: string) => Promise<boolean>) | null
}

interface Enqueue {
  readonly mill: Pick<Mill, 'config' | 'db' | 'supplier' | 'queue'>
  readonly intake: Intake
  readonly flags: EnqueueFlags
  readonly prompts: EnqueuePrompts
}

/** Queues the runs, unless only a preview was requested or the user declined. */
export async function enqueue(options: Enqueue): Promise<EnqueueReport | null> {
  const { mill, intake, flags, prompts } = options
  const { orders, budget, maxCredits } = intake
  const { db, supplier, config } = mill
  for (const notice of intake.notices) prompts.say(notice)
  const desk = { db, supplier, progress: prompts.progress }
  const careful = supplier.origin === 'live' && flags.yes !== true
  let isShown = false
  const show = (plans: Plans): void => {
    isShown = true
    for (const line of planLines(plans, supplier, intake)) prompts.show(line)
  }
  /** Asks for confirmation before a large purchase. The plan is then computed again from current data. */
  const agree = async (preview: Plans): Promise<boolean> => {
    for (const plan of preview.lists) refuseUndecided(plan, plan.list)
    expectWithin(preview.totals, maxCredits)
    const { queued, estimate } = preview.totals
    if (!careful || !needsYes(queued, estimate)) return true
    show(preview)
    const calls = count(queued, 'call')
    if (prompts.ask !== null) return prompts.ask(`Buy ${calls}? [y/N] `)
    throw new Misuse(
      `expected --yes for a purchase of ${calls}, or confirmation in a terminal, got neither; nothing was queued`,
    )
  }
  const how = flags.dryRun === true ? 'never' : careful || maxCredits !== null ? agree : 'always'
  // If the database becomes unreachable during planning, nothing is written.
  const plans = await reaching('the database', () =>
    planLists(desk, { orders, floor: config.creditFloor, budget }, how),
  )
  if (!isShown) show(plans)
  if (!plans.committed) return flags.dryRun === true ? reportOf(plans, intake, []) : null
  const queue = await mill.queue()
  for (const { run, done } of plans.lists) if (!done) await queueRun(desk, queue, run)
  return reportOf(plans, intake, await keepRejects(options, plans))
}

export function expectWithin(
  { estimate }: Pick<Totals, 'estimate'>,
  maxCredits: number | null,
): void {
  const { worst, credits } = estimate
  if (maxCredits === null || (worst !== null && worst <= maxCredits)) return
  const found = worst === null ? 'an unknown number' : `about ${credits}, at most ${worst}`
  throw new OverBudget(
    `expected the purchase to cost at most ${maxCredits} credits, got ${found}; nothing was queued`,
  )
}

/** Writes the rejected lines of each list to a file, or deletes the file left by an earlier read. */
async function keepRejects(
  { mill, intake, prompts }: Enqueue,
  { lists }: Plans,
): Promise<(string | null)[]> {
  const files: (string | null)[] = []
  for (const [index, { rejected, run, heading }] of lists.entries()) {
    const { from, reading } = intake.orders[index] ?? {}
    const sheet = reading?.sheet === undefined ? null : heading?.sheet
    const [path, shown] =
      from?.kind === 'file' ? [rejectsPath(from.path, sheet), from.shown] : [null, streamName]
    if (rejected === 0) {
      if (path !== null) await removeRejects(path)
      files.push(null)
      continue
    }
    const problem = path === null ? null : await writeRejects(path, rejectedLines(mill.db, run))
    const file = problem === null ? path : null
    const why = problem === null ? '' : `, because no file could be written (${problem})`
    prompts.say(
      `${count(rejected, 'line')} of ${shown} rejected: see ${file ?? `the table rejected_lines, run ${run}${why}`}`,
    )
    files.push(file)
  }
  return files
}
