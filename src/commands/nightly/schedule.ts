import type { ColumnReading } from './columns.ts'
import type { Agreed } from '../../lists/agreed.ts'
import { cadenceCell, type Cadence } from './cadence.ts'
import { unknownColumns, type ScheduleColumn } from './columns.ts'
import { readListWords } from './list-words.ts'
import { divideAmongLists } from './parts.ts'
import { shareCell, type Shares } from './shares.ts'
import type { TableRow } from '../../lists/table.ts'
import { readDuration } from '../../shared/time/duration.ts'
import { isZone } from '../../shared/settings.ts'
import { readSwitch } from '../../shared/shapes.ts'
import { readCron, type Cron } from '../../shared/time/cron.ts'

export const missedRules = ['latest', 'all', 'skip'] as const
export type MissedRule = (typeof missedRules)[number]

export const overlapRules = ['skip', 'queue', 'merge'] as const
export type OverlapRule = (typeof overlapRules)[number]

/** Where the list of a line lies, and what it is called. */
export interface ListPlace {
  readonly path: string
  readonly listName: string
}

/** One line of the file of schedules. */
export interface Schedule extends ListPlace, Shares {
  readonly name: string
  readonly line: number
  /** Path of the list as the file gives it. */
  readonly list: string
  readonly cron: Cron
  readonly zone: string
  /** Null: the default of the settings. */
  readonly maxAgeMs: number | null
  readonly budget: number | null
  readonly priority: number | null
  readonly missed: MissedRule
  readonly overlap: OverlapRule
  readonly on: boolean
  readonly cadence: Cadence
  /** How the list is read: as the file says, and where it says nothing as a person last agreed to. */
  readonly reading: Agreed
}

/** A line that cannot be used: why, and what would do. */
export interface RefusedLine {
  readonly line: number
  readonly problem: string
}

/** A row of the file, its cells by the names of the header. */
export type Line = Pick<TableRow, 'line' | 'fields'>

export interface Surroundings {
  /** Zone of lines that name none. */
  readonly zone: string
  /** Where a list lies; `problem` is null when it can be read or was read before. */
  readonly lookUpList: (list: string) => ListPlace & {
    readonly problem: string | null
    /** What a person last agreed to. */
    readonly reading?: Agreed
  }
}

/** Reads every line by itself: a bad one is refused, the others go on. */
export function readSchedules(
  lines: readonly Line[],
  around: Surroundings,
): { readonly schedules: readonly Schedule[]; readonly refusals: readonly RefusedLine[] } {
  const schedules: Schedule[] = []
  const unknown = unknownColumns([...(lines[0]?.fields.keys() ?? [])])
  const refusals: RefusedLine[] = unknown === null ? [] : [{ line: 1, problem: unknown }]
  const firstLines = new Map<string, number>()
  for (const line of lines) {
    const reader = new LineReader(line, around)
    const schedule = reader.schedule()
    const name = reader.text('schedule')
    const first = firstLines.get(name)
    if (first === undefined) firstLines.set(name, line.line)
    else reader.refuseTwin(first)
    if (schedule !== null && reader.problems.length === 0) schedules.push(schedule)
    for (const problem of reader.problems) refusals.push({ line: line.line, problem })
  }
  const divided = divideAmongLists(schedules)
  return { schedules: divided.schedules, refusals: [...refusals, ...divided.refusals] }
}

class LineReader {
  readonly problems: string[] = []
  readonly #line: Line
  readonly #around: Surroundings

  constructor(line: Line, around: Surroundings) {
    this.#line = line
    this.#around = around
  }

  text(column: ScheduleColumn): string {
    return (this.#line.fields.get(column) ?? '').trim()
  }

  /** Null when a field without which there is no schedule cannot be used. */
  schedule(): Schedule | null {
    const cron = this.#cron()
    const schedule = {
      name: this.#name(),
      line: this.#line.line,
      ...this.#list(),
      zone: this.#zone(),
      maxAgeMs: this.#maxAge(),
      budget: this.#whole('budget', 'credits: a whole number from 1 up, or nothing', [1]),
      priority: this.#whole('priority', 'a priority from 1 to 9, or nothing', [1, 9]),
      missed: this.#word('missed', missedRules, 'latest'),
      overlap: this.#word('overlap', overlapRules, 'skip'),
      on: this.#read('on', { read: readSwitch, expected: '"yes" or "no"', usual: false }),
      cadence: this.#read('cadence', cadenceCell),
      ...this.#read('share', shareCell),
    }
    return cron === null ? null : { ...schedule, cron }
  }

  /** A name can stand for one schedule only; the first line keeps it. */
  refuseTwin(first: number): void {
    if (this.text('schedule') === '') return
    this.#refuse('schedule', `a name of its own, since line ${first} has this one`)
  }

  #refuse(column: ScheduleColumn, expected: string): void {
    const got = JSON.stringify(this.text(column))
    this.problems.push(`${column}: expected ${expected}, got ${got}`)
  }

  #name(): string {
    const name = this.text('schedule')
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(name)) {
      this.#refuse('schedule', 'a short name of letters, digits, spaces, ".", "_" or "-"')
    }
    return name
  }

  #list(): Pick<Schedule, 'list' | 'reading' | keyof ListPlace> {
    const list = this.text('list')
    if (list === '') {
      this.problems.push('list: expected the path of a list, like inputs/keywords.csv, got nothing')
      return { list, path: '', listName: '', reading: {} }
    }
    const { path, listName, problem, reading } = this.#around.lookUpList(list)
    if (problem !== null) this.problems.push(`list: ${problem}`)
    const said = readListWords((column) => this.text(column))
    if (said.problem !== null) this.problems.push(`map: ${said.problem}`)
    return { list, path, listName, reading: said.agreed ?? reading ?? {} }
  }

  #cron(): Cron | null {
    const reading = readCron(this.text('cron'))
    if (reading.kind === 'cron') return reading.cron
    this.problems.push(`cron: ${reading.problem}`)
    return null
  }

  #zone(): string {
    const zone = this.text('zone') || this.#around.zone
    if (!isZone(zone)) this.#refuse('zone', 'a time zone like Europe/Berlin or UTC')
    return zone
  }

  #maxAge(): number | null {
    if (this.text('max_age') === '') return null
    const age = readDuration(this.text('max_age'))
    if (age === null)
      this.#refuse('max_age', 'a duration like 12h, 90m or 0, at most 36500d, or nothing')
    return age
  }

  #whole(column: 'budget' | 'priority', expected: string, range: readonly [number, number?]) {
    const text = this.text(column)
    if (text === '') return null
    const value = Number(text)
    const [least, most = Number.MAX_SAFE_INTEGER] = range
    if (!/^\d+$/.test(text) || value < least || value > most) this.#refuse(column, expected)
    return value
  }

  #word<W extends string>(column: 'missed' | 'overlap', words: readonly W[], usual: W): W {
    const text = this.text(column).toLowerCase()
    if (text === '') return usual
    const found = words.find((word) => word === text)
    if (found === undefined) this.#refuse(column, words.map((word) => `"${word}"`).join(', '))
    return found ?? usual
  }

  #read<T>(column: ScheduleColumn, { read, expected, usual }: ColumnReading<T>): T {
    const value = read(this.text(column))
    if (value === null) this.#refuse(column, expected)
    return value ?? usual
  }
}
