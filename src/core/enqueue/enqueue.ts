// Turns lists into priced, queued runs, step by step.

import { count } from '../../base/cli/text.ts'
import { reaching } from '../../base/database/trouble.ts'
import { OverBudget } from '../../base/errors.ts'
import type { ListFile } from '../lists/files.ts'
import { type RejectsFile, removeRejects, writeRejects } from '../lists/rejects.ts'
import type { Mill } from '../mill.ts'
import { type AskPerson, askToBuy, type EnqueueFlags, type Intake } from './flags.ts'
import { refuseUndecided } from './list-diff.ts'
import { rejectedLines } from './plan.ts'
import { planLists, type Plans, queueRun } from './planning.ts'
import { type EnqueueReport, reportOf, summarise } from './result.ts'
import type { EnqueueProgress, ListOrder } from './staging.ts'
import { needsYes, planLines, type Totals } from './summary.ts'

export interface EnqueuePrompts {
  readonly say: (line: string) => void
  readonly show: (line: string) => void
  readonly progress: (step: EnqueueProgress) => void
  readonly ask: AskPerson
}

interface Enqueue {
  readonly mill: Pick<Mill, 'config' | 'db' | 'supplier' | 'queue'>
  readonly intake: Intake
  readonly flags: EnqueueFlags
  readonly prompts: EnqueuePrompts
}

/** Plans all lists, shows the result, and queues their runs, unless it was a preview or the user declined. */
export async function enqueue(
  options: Enqueue & { readonly stream: AsyncIterable<unknown> },
): Promise<EnqueueReport | null> {
  const { mill, intake, flags, prompts, stream } = options
  for (const notice of intake.notices) prompts.say(notice)
  const desk = { db: mill.db, supplier: mill.supplier, progress: prompts.progress }
  const orders = ordersOf(intake, stream)
  const request = { orders, floor: mill.config.creditFloor, budget: intake.budget }
  const question = askFirst(options)
  // If the database becomes unreachable during planning, nothing is written.
  const plans = await reaching('the database', () => planLists(desk, request, question.agree))
  if (!question.planShown()) showPlan(options, plans)
  if (!plans.committed) return flags.dryRun === true ? reportOf(plans, intake, []) : null
  const queue = await mill.queue()
  for (const { run, done } of plans.lists) if (!done) await queueRun(desk, queue, run)
  return reportOf(plans, intake, await keepRejects(options, plans))
}

function ordersOf(intake: Intake, stream: AsyncIterable<unknown>): ListOrder[] {
  return intake.orders.map((order, index): ListOrder => {
    const { path, shown } = fileAt(intake, index)
    if (path === null) return { ...order, from: { kind: 'stream', stream } }
    return { ...order, from: { kind: 'file', path, shown } }
  })
}

function showPlan({ mill, intake, prompts }: Enqueue, plans: Plans): void {
  for (const line of planLines(summarise(mill, intake, plans))) prompts.show(line)
}

/** Asks for confirmation if live credits would be spent, and then computes the plan again from current data. */
function askFirst(options: Enqueue): {
  agree: 'always' | 'never' | ((preview: Plans) => Promise<boolean>)
  planShown: () => boolean
} {
  const { mill, flags, prompts } = options
  let shown = false
  const agree = async (preview: Plans): Promise<boolean> => {
    const { queued, estimate } = preview.totals
    if (!needsYes(queued, estimate)) return true
    showPlan(options, preview)
    shown = true
    return askToBuy(queued, prompts.ask, 'nothing was queued')
  }
  const careful = mill.supplier.origin === 'live' && flags.yes !== true
  const within = async (preview: Plans): Promise<boolean> => {
    for (const plan of preview.lists) refuseUndecided(plan, plan.list)
    expectWithin(preview.totals, options.intake.maxCredits)
    return careful ? agree(preview) : true
  }
  const limited = careful || options.intake.maxCredits !== null
  return {
    agree: flags.dryRun === true ? 'never' : limited ? within : 'always',
    planShown: () => shown,
  }
}

/** Rejects a plan that may cost more than the allowed maximum, or whose cost is unknown. */
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

function fileAt({ files }: Intake, index: number): ListFile {
  const file = files[index]
  if (file === undefined) throw new Error('expected a file for each list, got none')
  return file
}

async function keepRejects(
  { mill, intake, prompts }: Enqueue,
  { lists }: Plans,
): Promise<(string | null)[]> {
  const files: (string | null)[] = []
  for (const [index, { rejected, run, heading }] of lists.entries()) {
    const { path, shown, name } = fileAt(intake, index)
    const asked = intake.orders[index]?.reading.sheet !== undefined
    const sheet = asked ? (heading?.sheet ?? null) : null
    const list = { path, name, sheet, home: mill.config.home }
    if (rejected === 0) {
      await removeRejects(list)
      files.push(null)
      continue
    }
    const written = await writeRejects(list, () => rejectedLines(mill.db, run))
    const where = whereTo(written, { piped: path === null, run })
    prompts.say(`${count(rejected, 'line')} of ${shown} rejected: see ${where}`)
    files.push(written.path)
  }
  return files
}

function whereTo(written: RejectsFile, { piped, run }: { piped: boolean; run: number }): string {
  if (written.path === null) {
    return `the table rejected_lines, run ${run}, because no file could be written (${written.reason})`
  }
  return written.beside || piped
    ? written.path
    : `${written.path}, because the list's folder is not writable`
}
