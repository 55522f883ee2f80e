import { Batch, type BatchOptions } from './batch.ts'
import { countedLanes, mostTogether } from './capacity.ts'
import type { Clerk, Entry, Recorded } from '../../credits/entry.ts'
import { record } from '../../credits/record.ts'
import type { Mill } from '../mill/mill.ts'
import { troubleOf } from '../../store/trouble.ts'
import { lighten } from './entry.ts'

/** Writes these entries down; gives back what became of each, in their order. */
async function recordAll(
  mill: Mill,
  clerk: Clerk,
  entries: readonly Entry[],
): Promise<readonly Recorded[]> {
  const recorded = await record(mill.db, clerk, entries)
  const byCall = new Map(recorded.map((one) => [one.call, one]))
  return entries.map(
    ({ call }) => byCall.get(call) ?? { call, task: 0, state: 'open', waitMs: null },
  )
}

/** Gathers what ended and writes it down together. */
export function openBatch(
  mill: Mill,
  clerk: Clerk,
  { lanes, ...told }: { lanes: number } & Pick<BatchOptions<Entry, Recorded>, 'onAway' | 'onStuck'>,
): Batch<Entry, Recorded> {
  return new Batch<Entry, Recorded>({
    size: mostTogether,
    // With few lanes one of them waits for each commit; with many a little patience makes larger groups.
    delayMs: lanes <= countedLanes ? 5 : 10,
    writers: 2,
    write: (entries) => recordAll(mill, clerk, entries),
    judge: troubleOf,
    lighten,
    ...told,
  })
}
