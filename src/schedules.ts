import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { listName } from './lists/files.ts'
import { readTable } from './lists/table.ts'
import { readSchedules, type Line, type Refusal, type Schedule } from './nights/schedules.ts'
import { root } from './root.ts'
import type { Database } from './store/database.ts'
import { findList } from './store/nights.ts'

/** Where the schedules stand, unless another file is named. */
export const schedulesFile = resolve(root, 'inputs', 'config', 'schedules.csv')

/** What the file of schedules says. */
export interface Plan {
  readonly schedules: readonly Schedule[]
  readonly refusals: readonly Refusal[]
  /** Every name in the file, those of refused lines too. */
  readonly names: readonly string[]
}

/** Reads the file of schedules; a line that cannot be used is refused, a file that is none throws. */
export async function loadSchedules(
  db: Database,
  { file, zone }: { file: string; zone: string },
): Promise<Plan> {
  const rows = await readTable(file, file)
  const lines: Line[] = rows.map(({ line, fields }) => ({
    line,
    fields: Object.fromEntries(fields),
  }))
  const problems = new Map<string, string | null>()
  for (const { fields } of lines) {
    const path = fields['list']?.trim() ?? ''
    if (path !== '' && !problems.has(path)) problems.set(path, await checkList(db, path))
  }
  const { schedules, refusals } = readSchedules(lines, {
    zone,
    checkList: (path) => problems.get(path) ?? null,
  })
  const names = lines.map(({ fields }) => fields['schedule']?.trim() ?? '')
  return { schedules, refusals, names }
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
