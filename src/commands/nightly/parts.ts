import { percentsOf, sharePhrase } from './shares.ts'

/** A schedule as far as parts go, with the one that its own line says. */
interface Said {
  readonly line: number
  readonly listName: string
  readonly on: boolean
  readonly part: number | null
}

/**
 * The part of a night's credits that each list is given, where at least one is given a share: its own, or an equal part
 * of what the others leave. Lines that ask for more than there is are refused.
 */
export function divideAmongLists<T extends Said>(
  lines: readonly T[],
): {
  readonly schedules: readonly T[]
  readonly refusals: readonly { readonly line: number; readonly problem: string }[]
} {
  const owners = new Map<string, T & { readonly part: number }>()
  const refusals: { line: number; problem: string }[] = []
  for (const line of lines.filter(({ on }) => on)) {
    const problem = refusalOf(line, owners)
    if (problem !== null) refusals.push({ line: line.line, problem })
    else if (hasPart(line) && !owners.has(line.listName)) owners.set(line.listName, line)
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

function hasPart<T extends Said>(line: T): line is T & { readonly part: number } {
  return line.part !== null
}

function refusalOf({ part, listName }: Said, owners: ReadonlyMap<string, Said & { part: number }>) {
  if (part === null) return null
  const got = sharePhrase(part)
  const own = owners.get(listName)
  if (own !== undefined) {
    return own.part === part
      ? null
      : `share: expected the ${sharePhrase(own.part)} that line ${own.line} gives the same list, or nothing, got ${got}`
  }
  const given = percentsOf([...owners.values()].map((one) => one.part))
  if (given + percentsOf([part]) <= 100) return null
  return `share: expected lists with at most 100 % together, of which lines before have ${given} %, got ${got}`
}
