import type { TableRow } from '../../lists/table.ts'
import { Misuse } from '../../shared/errors.ts'
import type { AlertRule } from '../../store/nights/alert-rules.ts'
import { alertColumns, RuleReader, type KnownNames } from './rule.ts'

export interface AlertFile extends KnownNames {
  readonly rows: readonly TableRow[]
  /** The file as people call it. */
  readonly shown: string
}

/** The rules of a file, those that are off left out; every problem is told at once, and then there is no rule at all. */
export function readAlertFile({ rows, shown, ...known }: AlertFile): readonly AlertRule[] {
  const problems: string[] = []
  const complain = (line: number, problem: string) => problems.push(`${shown}:${line}: ${problem}`)
  for (const problem of headerProblems(rows)) complain(1, problem)
  const lines = new Map<string, number>()
  const rules = rows.flatMap(({ line, fields, problem }) => {
    if (problem !== null) {
      complain(line, `${problem}; put quotes around a cell that holds a comma`)
      return []
    }
    const reader = new RuleReader(fields, known)
    const { rule, on } = reader.read()
    const twin = lines.get(rule.name)
    if (twin !== undefined && rule.name !== '') {
      reader.refuse('alert', `a name of its own, since line ${twin} has this one`)
    }
    lines.set(rule.name, twin ?? line)
    for (const one of reader.problems) complain(line, one)
    return on ? [rule] : []
  })
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return rules
}

function headerProblems(rows: readonly TableRow[]): readonly string[] {
  const names = [...(rows[0]?.fields.keys() ?? [])]
  if (names.length === 0) return []
  const unknown = names.filter((name) => !alertColumns.some((column) => column === name))
  const missing = (['alert', 'what'] as const).filter((column) => !names.includes(column))
  return [
    ...unknown.map((name) => `${name}: expected one of the columns ${alertColumns.join(', ')}`),
    ...missing.map((name) => `${name}: expected this column, got none of that name`),
  ]
}
