import { count, firstNames, typed } from '../../shared/terminal/wording.ts'
import type { Forgettable } from '../../store/forgetting/forget.ts'
import type { AwayDays } from '../../store/forgetting/away.ts'
import type { InTheWay, Stays } from '../../store/forgetting/standing.ts'

/** What stands in the way, with what to do about it; null: nothing. */
export function obstacleOf(subject: Forgettable, way: InTheWay): string | null {
  const [run, ...others] = way.runs
  const what = subject.kind === 'list' ? `list ${subject.list.name}` : 'the query'
  if (run !== undefined) {
    const more = others.length === 0 ? '' : ` and ${count(others.length, 'other')}`
    return `expected no open run with ${what}, got run ${run}${more}; let it end (npm run work -- --drain), or type: npm run cancel -- --run ${run}`
  }
  if (way.calls > 0) {
    return `expected no answer to ${what} that may still come, got ${count(way.calls, 'call')} on the way or lost less than 10 minutes ago; try again then`
  }
  const [schedule] = way.schedules
  if (schedule === undefined) return null
  return `expected no schedule that reads ${what} again, got ${schedule}; take its line out of the file of schedules, or say enabled=no there, and try again when the scheduler has seen it (npm run nightly -- --show)`
}

/** Archived days that may name it, with the way to forget them as well; null: none. */
export function awayObstacle({ days, since, until }: AwayDays): string | null {
  if (days === 0) return null
  return `expected nothing of it in the archive, got ${count(days, 'day')} that may name it; bring them back, forget, and archive them again: npm run archive -- --back ${since}..${until}`
}

/** What goes on being there, and where this command cannot reach. */
export function notesOf(
  subject: Forgettable,
  { shared, namesakes }: Stays,
  days: number,
): readonly string[] {
  return [
    ...staying(subject, shared, namesakes),
    'the ledger stays: every call with its money, every run with what it spent; neither says any more what was asked',
    ...(days > 0
      ? [
          `the sums of ${count(days, 'finished day')} go, and are added up anew from what is left (npm run rebuild -- --days, or by itself at night)`,
        ]
      : []),
    newAgain(subject),
    'files are yours to remove: lists and settings, exports, reports, backups, copies of the archive, old versions that a bucket of it keeps, logs, and MILL_HOME/spool of each host; so are tables that analysts made in the schema scratch, and what the search service keeps',
  ]
}

function staying(subject: Forgettable, shared: number, namesakes: readonly string[]): string[] {
  if (subject.kind === 'domain') {
    return namesakes.length === 0
      ? []
      : [
          `${count(namesakes.length, 'text')} of queries name it and stay, with their answers: ${firstNames(namesakes)}; each goes with --query`,
        ]
  }
  return [
    ...(shared > 0
      ? [`${shared} of its queries stand in other lists too: they stay, with all their answers`]
      : []),
    ...(namesakes.length > 0
      ? [
          `lists that are named after it stay: ${firstNames(namesakes.map(typed))}; each goes with --list`,
        ]
      : []),
  ]
}

function newAgain(subject: Forgettable): string {
  switch (subject.kind) {
    case 'list':
      return 'a query that is enqueued again is a new one, and is bought again'
    case 'query':
      return 'when it is enqueued again it is a new query, and is bought again; a list that still holds it does so at its next reading'
    case 'domain':
      return 'an answer that comes later may name it again; results keep their places, with nobody at them'
    default:
      throw new Error(`unhandled subject ${JSON.stringify(subject satisfies never)}`)
  }
}
