// Decides what to do at each due time of a schedule: start, join, wait, skip or miss. All rules are pure functions.

import { unhandled } from '../../base/errors.ts'
import { type Due, dueBetween, nextDues } from '../../base/time/cron.ts'
import { dayMs } from '../../base/time/zone.ts'
import type { NightFacts } from '../nights/nights.ts'
import type { Schedule } from './schedule.ts'

/** A night that starts within this period is on time; a later night is late. A tick occurs every minute. */
export const graceMs = 5 * 60_000

// Length of a batch of due times after a long outage. Batches keep the steps small.
const portionMs = 7 * dayMs

const nobodyLooked = 'no scheduler was running, or the database was down'

export type Busy = NonNullable<NightFacts['busy']>

export type Facts = NightFacts & { readonly now: Date }

/** The next step for a schedule. The facts are read again after each step, until nothing is left to do. */
export type NightStep =
  | { readonly kind: 'rest'; readonly known: Date }
  | {
      readonly kind: 'record' | 'wait'
      readonly nights: readonly Due[]
      readonly outcome: 'missed' | 'skipped' | null
      readonly note: string
      readonly known: Date
    }
  | {
      readonly kind: 'run'
      readonly night: Due
      readonly outcome: 'ran' | 'late'
      readonly into: Busy | null
      readonly known: Date
    }
  | { readonly kind: 'close'; readonly busy: Busy; readonly note: string; readonly known: Date }

export function decide(schedule: Schedule, facts: Facts): NightStep {
  const { dues, newest, until } = undecided(schedule, facts)
  const older = newest === null ? dues : dues.slice(0, -1)
  const last = older.at(-1)
  if (last !== undefined) return passOver(schedule, older, last.at)
  if (newest !== null) return place(schedule, newest, facts)
  return callWaiting(schedule, facts, until)
}

/** Oldest batch of undecided due times. `newest` is null unless the batch includes the last undecided time. */
function undecided({ cron, zone }: Schedule, { now, known, decided }: Facts) {
  let after = known
  let until = after
  let dues: Due[] = []
  while (dues.length === 0 && until < now) {
    after = until
    until = new Date(Math.min(now.getTime(), after.getTime() + portionMs))
    dues = dueBetween(cron, zone, { after, until }).filter((due) => !decided.has(due.at.getTime()))
  }
  const next = until < now ? nextDues(cron, zone, { after: until, count: 1 })[0] : undefined
  const complete = next === undefined || next.at > now
  return { dues, newest: complete ? (dues.at(-1) ?? null) : null, until }
}

function passOver({ missed }: Schedule, nights: readonly Due[], known: Date): NightStep {
  if (missed === 'all') return wait(nights, known, `${nobodyLooked}; the night waits for its turn`)
  const note = missed === 'skip' ? nobodyLooked : `${nobodyLooked}; a newer night runs instead`
  return { kind: 'record', nights, outcome: 'missed', note, known }
}

function place(schedule: Schedule, night: Due, facts: Facts): NightStep {
  const { busy, waiting } = facts
  const known = night.at
  const nights = [night]
  const outcome = outcomeOf(night, facts.now)
  if (outcome === 'late' && schedule.missed === 'skip') return passOver(schedule, nights, known)
  if (waiting.length > 0) return wait(nights, known, 'an older night must finish first')
  if (busy === null) return { kind: 'run', night, outcome, into: null, known }
  if (givesWay(schedule, busy)) return close(busy, facts)
  if (busy.starved && schedule.missed === 'all') return wait(nights, known, stillGoing(busy))
  switch (schedule.overlap) {
    case 'skip':
      return { kind: 'record', nights, outcome: 'skipped', note: stillGoing(busy), known }
    case 'queue':
      return wait(nights, known, stillGoing(busy))
    case 'merge':
      return { kind: 'run', night, outcome, into: busy, known }
    default:
      throw unhandled('rule', schedule.overlap)
  }
}

/** Starts the postponed nights: all of them if the rule for missed nights is `all`, otherwise only the newest night. */
function callWaiting(schedule: Schedule, facts: Facts, known: Date): NightStep {
  const { busy, waiting, now } = facts
  const [night] = waiting
  if (night === undefined) return { kind: 'rest', known }
  if (waiting.length > 1 && schedule.missed !== 'all') {
    const note = 'a newer night replaced this night while it waited'
    return { kind: 'record', nights: waiting.slice(0, -1), outcome: 'skipped', note, known }
  }
  if (busy !== null) return givesWay(schedule, busy) ? close(busy, facts) : { kind: 'rest', known }
  return { kind: 'run', night, outcome: outcomeOf(night, now), into: null, known }
}

/** True if the open run ran out of credits, and the rule for missed nights prefers a newer night. */
function givesWay(schedule: Schedule, busy: Busy): boolean {
  return busy.starved && busy.schedule === schedule.name && schedule.missed === 'latest'
}

function close(busy: Busy, { known }: Facts): NightStep {
  const note = `closed as partial with ${busy.tasks - busy.open} of ${busy.tasks} tasks done, because credits ran out and a newer night is due`
  return { kind: 'close', busy, note, known }
}

function wait(nights: readonly Due[], known: Date, note: string): NightStep {
  return { kind: 'wait', nights, outcome: null, note, known }
}

function stillGoing(busy: Busy): string {
  const why = busy.starved ? 'was stopped for lack of credits' : 'was still in progress'
  return `run ${busy.run} of ${busy.date} ${why}, with ${busy.tasks - busy.open} of ${busy.tasks} tasks done`
}

function outcomeOf(night: Due, now: Date): 'ran' | 'late' {
  return now.getTime() - night.at.getTime() > graceMs ? 'late' : 'ran'
}
