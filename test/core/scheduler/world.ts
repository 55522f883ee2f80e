import { type Cron, readCron } from '../../../src/base/time/cron.ts'
import { type Busy, decide, type NightStep } from '../../../src/core/scheduler/decide.ts'
import { placeOf, type Schedule } from '../../../src/core/scheduler/schedule.ts'

/** The cron pattern, which must be valid. */
export function cronOf(pattern: string): Cron {
  const reading = readCron(pattern)
  if (reading.kind === 'problem') throw new Error(reading.problem)
  return reading.cron
}

/** A schedule with default values. */
export function scheduleOf(changes: Partial<Schedule> & { pattern?: string } = {}): Schedule {
  const { pattern = '0 2 * * *', list = 'inputs/keywords.csv', ...rest } = changes
  return {
    name: 'nightly',
    line: 2,
    list,
    ...placeOf(list),
    cron: cronOf(pattern),
    zone: 'UTC',
    maxAgeMs: null,
    budget: null,
    priority: null,
    missed: 'latest',
    overlap: 'skip',
    on: true,
    longestDays: 1,
    part: null,
    shares: [],
    reading: {},
    ...rest,
  }
}

export interface Night {
  readonly at: number
  readonly date: string
  outcome: string | null
  run: number | null
}

interface Run {
  readonly id: number
  readonly date: string
  open: number
  closed: boolean
}

const tasksPerRun = 100

/** A simulation of the tables of nights, with a worker whose speed the test sets. */
export class World {
  readonly nights = new Map<number, Night>()
  readonly runs: Run[] = []
  readonly #schedule: Schedule
  #known: Date
  #starved = false

  constructor(schedule: Schedule, start: Date) {
    this.#schedule = schedule
    this.#known = start
  }

  /** One tick of several schedulers that all read the same facts before any of them acts. */
  tick(now: Date, schedulers = 1): void {
    for (let steps = 0; steps < 5000; steps++) {
      const step = decide(this.#schedule, this.#facts(now))
      for (let copy = 0; copy < schedulers; copy++) this.#apply(step)
      this.#known = step.known
      if (step.kind === 'rest') return
    }
    throw new Error('expected the tick to come to rest')
  }

  /** Simulates workers: this many tasks are answered, unless there are no credits. */
  work(tasks: number, starved = false): void {
    this.#starved = starved
    const run = this.#going()
    if (run !== undefined && !starved) run.open = Math.max(0, run.open - tasks)
  }

  rows(): Night[] {
    return [...this.nights.values()].toSorted((a, b) => a.at - b.at)
  }

  #going(): Run | undefined {
    return this.runs.find((run) => run.open > 0 && !run.closed)
  }

  #facts(now: Date) {
    const rows = this.rows()
    return {
      now,
      known: this.#known,
      decided: new Set(rows.map((row) => row.at)),
      waiting: rows
        .filter((row) => row.outcome === null)
        .map((row) => ({ at: new Date(row.at), date: row.date })),
      busy: this.#busy(),
    }
  }

  #busy(): Busy | null {
    const run = this.#going()
    if (run === undefined) return null
    const { id, date, open } = run
    const { name } = this.#schedule
    return { run: id, date, schedule: name, starved: this.#starved, tasks: tasksPerRun, open }
  }

  #apply(step: NightStep): void {
    switch (step.kind) {
      case 'rest':
        return
      case 'record':
        for (const { at, date } of step.nights) this.#claim({ at: +at, date }, step.outcome)
        return
      case 'wait':
        for (const { at, date } of step.nights) this.#claim({ at: +at, date }, null)
        return
      case 'run': {
        const night = this.#claim({ at: +step.night.at, date: step.night.date }, step.outcome)
        if (night !== null) night.run = step.into?.run ?? this.#plan(step.night.date)
        return
      }
      case 'close':
        for (const run of this.runs) if (run.id === step.busy.run) run.closed = true
        return
      default:
        throw new Error(`unhandled step ${JSON.stringify(step satisfies never)}`)
    }
  }

  /** Simulates the primary key of the table: null if another scheduler was first. */
  #claim({ at, date }: { at: number; date: string }, outcome: string | null): Night | null {
    const standing = this.nights.get(at)
    if (standing !== undefined && standing.outcome !== null) return null
    const night = { at, date, outcome, run: null }
    this.nights.set(at, night)
    return night
  }

  #plan(date: string): number {
    const id = this.runs.length + 1
    this.runs.push({ id, date, open: tasksPerRun, closed: false })
    return id
  }
}
