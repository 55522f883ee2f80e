import { existsSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { readAgreed } from '../../lists/agreed.ts'
import { knownList } from '../../store/planning/lists.ts'
import { listName } from '../../lists/files.ts'
import { readRows } from '../../lists/table.ts'
import {
  readSchedules,
  type Line,
  type ListPlace,
  type RefusedLine,
  type Schedule,
  type Surroundings,
} from './schedule.ts'
import { workplace } from '../../shared/root.ts'
import type { Database } from '../../store/database.ts'
import { findList } from '../../store/nights/nights.ts'

/** Where the schedules stand, unless another file is named. */
export const schedulesFile = resolve(workplace, 'inputs', 'config', 'schedules.csv')

/** What the file of schedules says. */
export interface ScheduleFile {
  readonly schedules: readonly Schedule[]
  readonly refusals: readonly RefusedLine[]
  /** Every name in the file, those of refused lines too. */
  readonly names: readonly string[]
}

/** Reads the file of schedules; a line that cannot be used is refused, a file that cannot be read throws. */
export async function loadSchedules(
  db: Database,
  { file, zone }: { file: string; zone: string },
): Promise<ScheduleFile> {
  const rows = await readRows(file, file)
  const lines = rows.filter(({ problem }) => problem === null)
  const found = await findLists(db, lines)
  const { schedules, refusals } = readSchedules(lines, {
    zone,
    lookUpList: (list) => found.get(list) ?? { ...placeOf(list), problem: null },
  })
  const broken = rows.flatMap(({ line, problem }) => {
    if (problem === null) return []
    return [{ line, problem: `${problem}; put quotes around a cell that holds a comma` }]
  })
  const names = rows.map(({ fields }) => fields.get('schedule') ?? '')
  return { schedules, refusals: [...refusals, ...broken], names }
}

type FoundList = ReturnType<Surroundings['lookUpList']>

async function findLists(
  db: Database,
  lines: readonly Line[],
): Promise<ReadonlyMap<string, FoundList>> {
  const lists = new Map<string, FoundList>()
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
        : `expected lists with names of their own, got ${first} and ${path}, both ${JSON.stringify(name)}; rename one of the files`
    const known = await knownList(db, name)
    const taken = problem === null && known !== undefined ? takenName(place, known.source) : null
    const reading = readAgreed(known?.reading)
    lists.set(list, { ...place, problem: problem ?? taken, reading })
  }
  return lists
}

/** A name that belongs to another file which is still there: at night the two would become one list. */
function takenName({ path, listName: name }: ListPlace, source: string): string | null {
  if (source === path || !isAbsolute(source) || !existsSync(source) || !existsSync(path))
    return null
  return `expected a list with a name of its own, got ${path}, while ${JSON.stringify(name)} is the list of ${source}; rename the file`
}

/** The path of a list is taken from the project's own folder: schedulers run in any folder. */
export function placeOf(list: string): ListPlace {
  const path = resolve(workplace, list)
  return { path, listName: listName(path) }
}

/** A list whose file is gone goes on with what was last read; one that nobody ever read cannot. */
async function checkList(db: Database, list: string, place: ListPlace): Promise<string | null> {
  if (existsSync(place.path) || (await findList(db, place.listName)) !== null) return null
  return `expected a list of queries, got ${JSON.stringify(list)}, where nothing is; write its path as seen from ${workplace}, like inputs/keywords.csv`
}
