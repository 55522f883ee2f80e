// Parses and checks the schedule file.

import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import type { Database } from '../../base/database/database.ts'
import { workplace } from '../../base/root.ts'
import { isZone, readSwitch } from '../../base/settings.ts'
import { readCron } from '../../base/time/cron.ts'
import { readDuration } from '../../base/time/zone.ts'
import { knownList, type TaggedShare } from '../enqueue/order.ts'
import { nameOfList } from '../lists/files.ts'
import { type Agreed, readAgreed } from '../lists/options.ts'
import { readRows, type TableRow } from '../lists/table.ts'
import { findList } from '../nights/nights.ts'

// The first rule in each list is the default for lines that set no rule.
const missedRules = ['latest', 'all', 'skip'] as const
const overlapRules = ['skip', 'queue', 'merge'] as const

type ListPlace = ReturnType<typeof placeOf>

export type Schedule = NonNullable<ReturnType<typeof readLine>['schedule']>

export interface RefusedLine {
  readonly line: number
  readonly problem: string
}

export type Line = Pick<TableRow, 'line' | 'fields'>

interface Surroundings {
  readonly zone: string
  /** Returns a list's path and name. `problem` is null if the list can be read or was read before. */
  readonly lookUpList: (list: string) => ListPlace & {
    readonly problem: string | null
    readonly reading?: Agreed
  }
}

/** Parses each line independently. Invalid lines are rejected, and the other lines are used. */
export function readSchedules(lines: readonly Line[], around: Surroundings) {
  const schedules: Schedule[] = []
  const refusals: RefusedLine[] = []
  const unknown = [...(lines[0]?.fields.keys() ?? [])].filter(
    (name) => !columns.some((column) => column === name),
  )
  if (unknown.length > 0) {
    const problem = `expected only the columns ${columns.join(', ')}, got ${unknown.join(', ')} as well; unknown columns are not read`
    refusals.push({ line: 1, problem })
  }
  const firstLines = new Map<string, number>()
  for (const line of lines) {
    const { schedule, problems } = readLine(line, around)
    const name = textOf(line, 'schedule')
    const first = firstLines.get(name)
    if (first === undefined) firstLines.set(name, line.line)
    else if (name !== '') {
      problems.push(problemOf(line, 'schedule', `a name that is not already used on line ${first}`))
    }
    if (schedule !== null && problems.length === 0) schedules.push(schedule)
    for (const problem of problems) refusals.push({ line: line.line, problem })
  }
  const divided = divideAmongLists(schedules)
  return { schedules: divided.schedules, refusals: [...refusals, ...divided.refusals] }
}

const columns = [
  'schedule',
  'list',
  'cron',
  'zone',
  'max_age',
  'budget',
  'priority',
  'missed',
  'overlap',
  'on',
  'cadence',
  'share',
] as const

type ScheduleColumn = (typeof columns)[number]

function textOf({ fields }: Line, column: ScheduleColumn): string {
  return (fields.get(column) ?? '').trim()
}

function problemOf(line: Line, column: ScheduleColumn, expected: string): string {
  return `${column}: expected ${expected}, got ${JSON.stringify(textOf(line, column))}`
}

/** Parser for a column's cells. If `read` returns null, the text is invalid, and `usual` is used instead. */
interface ColumnReading<T> {
  readonly read: (text: string) => T | null
  readonly expected: string
  readonly usual: T
}

/** Returns a line's problems and its schedule; the schedule is null if the cron pattern is invalid. */
function readLine(line: Line, { zone, lookUpList }: Surroundings) {
  const problems: string[] = []
  const cell = <T>(column: ScheduleColumn, { read, expected, usual }: ColumnReading<T>): T => {
    const value = read(textOf(line, column))
    if (value === null) problems.push(problemOf(line, column, expected))
    return value ?? usual
  }
  const optional = <T>(
    column: ScheduleColumn,
    read: (text: string) => T | null,
    expected: string,
  ): T | null => {
    if (textOf(line, column) === '') return null
    return cell<T | null>(column, { read, expected: `${expected}, or nothing`, usual: null })
  }
  const list = textOf(line, 'list')
  const found = list === '' ? { path: '', listName: '', problem: noList } : lookUpList(list)
  if (found.problem !== null) problems.push(`list: ${found.problem}`)
  const reading = readCron(textOf(line, 'cron'))
  if (reading.kind === 'problem') problems.push(`cron: ${reading.problem}`)
  const schedule = {
    name: cell('schedule', nameCell),
    line: line.line,
    list,
    path: found.path,
    listName: found.listName,
    reading: found.reading ?? {},
    zone: cell('zone', {
      read: (text) => (isZone(text || zone) ? text || zone : null),
      expected: 'a time zone like Europe/Berlin or UTC',
      usual: zone,
    }),
    /** Maximum age of a reused answer; null if the configured default applies. */
    maxAgeMs: optional('max_age', readDuration, 'a duration like 12h, 90m or 0, at most 36500d'),
    budget: optional('budget', wholeFrom(1), 'credits: a whole number of at least 1'),
    priority: optional('priority', wholeFrom(1, 9), 'a priority from 1 to 9'),
    missed: cell('missed', wordCell(missedRules)),
    overlap: cell('overlap', wordCell(overlapRules)),
    on: cell('on', { read: readSwitch, expected: '"yes" or "no"', usual: false }),
    /** Longest interval of an adaptive cadence; 1 if every query is bought every night. */
    longestDays: cell('cadence', cadenceCell),
    ...cell('share', shareCell),
  }
  return {
    schedule: reading.kind === 'problem' ? null : { ...schedule, cron: reading.cron },
    problems,
  }
}

const noList = 'expected the path to a list, like inputs/keywords.csv, got nothing'

const nameCell: ColumnReading<string> = {
  read: (text) => (/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text) ? text : null),
  expected: 'a short name of letters, digits, spaces, ".", "_" or "-"',
  usual: '',
}

function wholeFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number | null => {
    const value = Number(text)
    return /^\d+$/.test(text) && value >= least && value <= most ? value : null
  }
}

function wordCell<W extends string>(words: readonly [W, ...W[]]): ColumnReading<W> {
  return {
    read: (text) => words.find((word) => word === (text.toLowerCase() || words[0])) ?? null,
    expected: words.map((word) => `"${word}"`).join(', '),
    usual: words[0],
  }
}

/** Schedule fields that determine a list's share. */
type Said = Pick<Schedule, 'line' | 'listName' | 'on' | 'part'>

/** Gives each list its configured share of the credits, or an equal part of the rest. Rejects shares above 100 %. */
export function divideAmongLists<T extends Said>(lines: readonly T[]) {
  const owners = new Map<string, { readonly line: number; readonly part: number }>()
  const refusals: RefusedLine[] = []
  for (const line of lines) {
    const { part } = line
    if (!line.on || part === null) continue
    const problem = refusalOf(part, owners, line.listName)
    if (problem !== null) refusals.push({ line: line.line, problem })
    else if (!owners.has(line.listName)) owners.set(line.listName, { line: line.line, part })
  }
  const refused = new Set(refusals.map(({ line }) => line))
  const schedules = lines.filter(({ line }) => !refused.has(line))
  if (owners.size === 0) return { schedules, refusals }
  const others = new Set(
    schedules.filter(({ on, listName }) => on && !owners.has(listName)).map((one) => one.listName),
  )
  const left = (100 - percentsOf([...owners.values()].map(({ part }) => part))) / 100
  const partOf = ({ listName }: T) => owners.get(listName)?.part ?? left / Math.max(1, others.size)
  return { schedules: schedules.map((one) => ({ ...one, part: partOf(one) })), refusals }
}

function refusalOf(
  part: number,
  owners: ReadonlyMap<string, { readonly line: number; readonly part: number }>,
  listName: string,
) {
  const got = sharePhrase(part)
  const own = owners.get(listName)
  if (own !== undefined) {
    return own.part === part
      ? null
      : `share: expected nothing, or ${sharePhrase(own.part)} as on line ${own.line} for this list, got ${got}`
  }
  const given = percentsOf([...owners.values()].map((one) => one.part))
  if (given + percentsOf([part]) <= 100) return null
  return `share: expected shares that add up to at most 100 % (earlier lines use ${given} %), got ${got}`
}

/** Shares of scarce credits: the list's share of all credits, and the tags' shares of the list's credits. */
interface Shares {
  /** Share of all credits, from 0 to 1; null if no list has a share. */
  readonly part: number | null
  readonly shares: readonly TaggedShare[]
}

export const shareCell: ColumnReading<Shares> = {
  read: readShares,
  expected:
    'a percentage for the list, and percentages for tags that add up to at most 100 %, like 40%|brand=30%|guides=20%, or nothing',
  usual: { part: null, shares: [] },
}

/** Parses shares. Returns null if a tag occurs twice, or if the shares total more than 100 percent. */
function readShares(text: string): Shares | null {
  const words = text
    .split('|')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const shares: TaggedShare[] = []
  let part: number | null = null
  for (const word of words) {
    const [, tag, percent = ''] = /^(?:(.+?)\s*[=:]\s*)?(\d{1,3})\s*%$/u.exec(word) ?? []
    const share = Number(percent) / 100
    if (share <= 0 || share > 1) return null
    if (tag === undefined) {
      if (part !== null) return null
      part = share
    } else {
      if (shares.some((one) => one.tag === tag)) return null
      shares.push({ tag, share })
    }
  }
  return percentsOf(shares.map(({ share }) => share)) > 100 ? null : { part, shares }
}

/** Adds shares as integer percentages, because 0.1 + 0.2 is not exactly 0.3. */
function percentsOf(shares: readonly number[]): number {
  return shares.reduce((sum, share) => sum + Math.round(share * 100), 0)
}

export function sharePhrase(share: number): string {
  return `${percentsOf([share])} %`
}

export function sharesPhrase(shares: readonly TaggedShare[]): string {
  return shares.map(({ tag, share }) => `${tag} ${sharePhrase(share)}`).join(', ')
}

export const usualLongestDays = 14

const cadenceCell: ColumnReading<number> = {
  read: readCadence,
  expected: '"daily", or "adaptive" with an interval from 2d to 365d, like "adaptive 14d"',
  usual: 1,
}

function readCadence(text: string): number | null {
  if (/^(?:daily)?$/i.test(text)) return 1
  const found = /^adaptive(?:\s+(\d{1,3})d)?$/i.exec(text)
  const longestDays = found === null ? 0 : Number(found[1] ?? usualLongestDays)
  return longestDays >= 2 && longestDays <= 365 ? longestDays : null
}

export const schedulesFile = resolve(workplace, 'inputs', 'config', 'schedules.csv')

export type ScheduleFile = Awaited<ReturnType<typeof loadSchedules>>

/** Loads the schedule file. Rejects invalid lines, and throws if the file can't be read. */
export async function loadSchedules(db: Database, { file, zone }: { file: string; zone: string }) {
  const rows = await readRows(file, file)
  const lines = rows.filter(({ problem }) => problem === null)
  const found = await findLists(db, lines)
  const { schedules, refusals } = readSchedules(lines, {
    zone,
    lookUpList: (list) => found.get(list) ?? { ...placeOf(list), problem: null },
  })
  const broken = rows.flatMap(({ line, problem }) => {
    if (problem === null) return []
    return [{ line, problem: `${problem}; put quotes around a cell that contains a comma` }]
  })
  // The names in rejected lines are included.
  const names = rows.map(({ fields }) => fields.get('schedule') ?? '')
  return { schedules, refusals: [...refusals, ...broken], names }
}

async function findLists(db: Database, lines: readonly Line[]) {
  const lists = new Map<string, ReturnType<Surroundings['lookUpList']>>()
  const firstPaths = new Map<string, string>()
  for (const { fields } of lines) {
    const list = fields.get('list') ?? ''
    if (list === '' || lists.has(list)) continue
    const place = placeOf(list)
    const { path, listName: name } = place
    const first = firstPaths.get(name) ?? path
    firstPaths.set(name, first)
    const problem =
      first === path
        ? await checkList(db, list, place)
        : `expected lists with different names, got ${first} and ${path}, both named ${JSON.stringify(name)}; rename one of the files`
    const known = await knownList(db, name)
    const taken = problem === null && known !== undefined ? takenName(place, known.source) : null
    const reading = readAgreed(known?.reading)
    lists.set(list, { ...place, problem: problem ?? taken, reading })
  }
  return lists
}

/** Rejects a name that is used for a list from another existing file, because nightly runs would merge both lists. */
function takenName({ path, listName: name }: ListPlace, source: string): string | null {
  if (source === path || !isAbsolute(source) || ![source, path].every(existsSync)) return null
  return `the list name ${JSON.stringify(name)} for ${path} is already used for the list read from ${source}; rename the file`
}

/** List paths are relative to the project folder, because schedulers may run in any directory. */
export function placeOf(list: string) {
  const path = resolve(workplace, list)
  return { path, listName: nameOfList(path) }
}

/** If a list's file is missing, its last stored contents are used. A list that has never been read is rejected. */
async function checkList(db: Database, list: string, place: ListPlace): Promise<string | null> {
  if (existsSync(place.path) || (await findList(db, place.listName)) !== null) return null
  return `expected a list of queries, got ${JSON.stringify(list)}, which does not exist; write its path relative to ${workplace}, like inputs/keywords.csv`
}
