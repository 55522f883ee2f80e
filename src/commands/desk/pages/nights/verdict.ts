import type { CalendarEntry } from '../../../../store/operator/calendar.ts'

/** What a night came to, the best first. */
export const verdicts = {
  fine: { sign: '✓', text: 'done', tone: 'good' },
  odd: { sign: '?', text: 'odd, but shown: price, time, or a change that lasts', tone: 'warn' },
  going: { sign: '…', text: 'goes on', tone: 'warn' },
  skipped: { sign: '–', text: 'skipped: another run was going', tone: 'soft' },
  suspect: { sign: '!', text: 'suspect: left out of shares and trends', tone: 'warn' },
  lost: { sign: '×', text: 'missed, failed or cancelled', tone: 'bad' },
} as const

export type NightVerdict = keyof typeof verdicts

/** A night's verdict, and the same in a sentence. */
export function healthOf(entry: CalendarEntry): { verdict: NightVerdict; words: string } {
  const { run, state, outcome, suspect, reasons, asked, answered, note } = entry
  const counts = asked === null ? '' : `, ${answered ?? 0} of ${asked} answered`
  if (run === null) {
    const verdict = outcome === 'skipped' ? 'skipped' : outcome === 'waiting' ? 'going' : 'lost'
    return { verdict, words: `${outcome ?? 'no run'}${note === null ? '' : `: ${note}`}` }
  }
  if (suspect) return { verdict: 'suspect', words: `suspect${counts}: ${reasons.join('; ')}` }
  if (state === 'cancelled') return { verdict: 'lost', words: `cancelled${counts}` }
  if (state !== 'done') return { verdict: 'going', words: state }
  const done = `done${counts}${outcome === 'late' ? ', late' : ''}`
  return reasons.length === 0
    ? { verdict: 'fine', words: done }
    : { verdict: 'odd', words: `${done}; odd: ${reasons.join('; ')}` }
}
