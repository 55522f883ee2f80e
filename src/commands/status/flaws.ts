import { count, flawText } from '../../shared/terminal/wording.ts'
import type { RunStatus } from '../../store/operator/status.ts'

/** Names the answers of a run that `reparse` cannot mend; nothing where there are none. */
export function flawLine(status: RunStatus): string[] {
  const { run, unreadable, other_query } = status
  const text = flawText(status)
  if (text === '') return []
  const code = other_query > 0 ? 'OTHER_QUERY' : 'PAID_REFUSAL'
  return [
    `run ${run}: of ${count(unreadable, 'unreadable answer')} ${text}; to buy those again: npm run retry -- --run ${run} --error ${code} --buy-again`,
  ]
}
