import type { BroughtRound } from '../../store/analysis/expansion.ts'
import type { ExpandOutcome } from './expand.ts'
import type { ExpandOrder } from './intake.ts'

/** What an expansion says when it is through, as a program reads it. */
export function expandReport(
  { list, into, credits, depth }: ExpandOrder,
  { kind, round, run, stand, found, again }: ExpandOutcome,
  rounds: readonly BroughtRound[],
): object {
  return {
    list,
    into,
    state: kind,
    dry_run: kind === 'previewed',
    round,
    depth,
    run,
    credits: { limit: credits, used: stand.used, left: stand.left },
    again,
    taken: found?.queries.length ?? 0,
    candidates: found?.candidates ?? null,
    looked_at: found?.looked ?? null,
    left_out: found?.leftOut ?? null,
    estimate: found?.preview.estimate ?? null,
    balance: found?.preview.balance ?? null,
    queries: found?.queries ?? [],
    rounds,
  }
}
