import { readConfig } from '../../shared/config.ts'
import { exits, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { readBrought } from '../../store/analysis/expansion.ts'
import { reaching } from '../../store/trouble.ts'
import { askPerson } from '../enqueue/agree.ts'
import { openMill } from '../mill/mill.ts'
import { expand, type Takeable, type ExpandOutcome } from './expand.ts'
import { readOrder, type ExpandFlags } from './intake.ts'
import { expandReport } from './report.ts'
import { foundLines, outcomeLines, roundLines } from './screen.ts'

/** Takes the most promising related searches of a list into a list of their own, round by round. */
export async function runExpand(call: Call<ExpandFlags>): Promise<Exit> {
  const { options: flags, env, closers } = call
  const config = readConfig(env)
  const order = readOrder(flags)
  const mill = await openMill({ config, closers, say, name: 'expand' })
  const json = flags.json === true
  const show = (lines: readonly string[]) =>
    lines.forEach((line) => (json ? say(line) : print(line)))
  const outcome = await reaching('the database', () =>
    expand(mill, order, {
      dryRun: flags.dryRun === true,
      yes: flags.yes === true,
      show: (found: Takeable) => show(foundLines(found, order)),
      ask: process.stdin.isTTY && process.stderr.isTTY ? askPerson : null,
    }),
  )
  const rounds = await readBrought(mill.db, { list: order.into, origin: mill.supplier.origin })
  if (json) printJson(expandReport(order, outcome, rounds))
  else show([...roundLines(rounds), ...outcomeLines(outcome, order)])
  return exitOf(outcome, mill.supplier.origin)
}

function exitOf({ kind, found }: ExpandOutcome, origin: string): Exit {
  if (kind === 'spent') return exits.stopped
  if (kind !== 'previewed' || found === null || origin === 'test') return exits.done
  const { after, floor } = found.preview.balance
  // What is only previewed says by its exit code whether it fits, as that of every purchase does.
  return after === null || after >= floor ? exits.done : exits.stopped
}
