import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { listName } from '../../lists/files.ts'
import { readRows } from '../../lists/table.ts'
import { readSchedules, type Line, type RefusedLine, type Schedule } from './schedule.ts'
import { root } from '../../shared/root.ts'
import type { Database } from '../../store/database.ts'
import { findList } from '../../store/nights/nights.ts'

/** Where the schedules stand, unless another file is named. */
export const schedulesFile = resolve(root, 'inputs', 'config', 'schedules.csv')

/** What the file of schedules says. */
export interface ScheduleFile {
  readonly schedules: readonly Schedule[]
  readonly refusals: readonly RefusedLine[]
  /** Every name in the file, those of refused lines too. */
  readonly names: readonly string[]
}

/** Reads the file of schedules; a line that cannot be used is refused, a file that is none throws. */
export async function loadSchedules(
  db: Database,
  { file, zone }: { file: string; zone: string },
): Promise<ScheduleFile> {
  const rows = await readRows(file, file)
  const lines: Line[] = rows
    .filter(({ problem }) => problem === null)
    .map(({ line, fields }) => ({ line, fields: Object.fromEntries(fields) }))
  const problems = await checkLists(db, lines)
  const { schedules, refusals } = readSchedules(lines, {
    zone,
    checkList: (path) => problems.get(path) ?? null,
  })
  const broken = rows.flatMap(({ line, problem }) => {
    if (problem === null) return []
    return [{ line, problem: `${problem}; put quotes around a cell that holds a comma` }]
  })
  const names = rows.map(({ fields }) => fields.get('schedule') ?? '')
  return { schedules, refusals: [...refusals, ...broken], names }
}

async function checkLists(
  db: Database,
  lines: readonly Line[],
): Promise<ReadonlyMap<string, string | null>> {
  const problems = new Map<string, string | null>()
  const paths = new Map<string, string>()
  for (const { fields } of lines) {
    const list = fields['list']?.trim() ?? ''
    if (list === '' || problems.has(list)) continue
    const path = listPath(list)
    const name = listName(path)
    const twin = paths.get(name) ?? path
    paths.set(name, twin)
    problems.set(
      list,
      twin === path
        ? await checkList(db, list)
        : `expected lists with names of their own, got ${twin} and ${path}, both ${JSON.stringify(name)}; rename one of the files`,
    )
  }
  return problems
}

/** The path of a list as the project's own folder sees it: schedulers run anywhere. */
export function listPath(list: string): string {
  return resolve(root, list)
}

/** A list whose file is gone goes on with what was last read; one that nobody ever read cannot. */
async function checkList(db: Database, list: string): Promise<string | null> {
  const path = listPath(list)
  if (existsSync(path) || (await findList(db, listName(path))) !== null) return null
  return `expected a list of queries, got ${JSON.stringify(list)}, where nothing is; write its path as seen from ${root}, like inputs/keywords.csv`
}
