import type { Described, Describer } from './columns.ts'
import { documentKeys, probeDocuments } from './documents.ts'
import type { Member } from './members.ts'
import type { RowStatement } from './statements.ts'

/** Lists the differences between a statement's row type and the server's description. */
export async function compareRows(
  server: Describer,
  { texts, members }: RowStatement,
): Promise<readonly string[]> {
  const found = new Set<string>()
  for (const text of texts) {
    for (const complaint of await compareText(server, text, members)) found.add(complaint)
  }
  return [...found]
}

async function compareText(
  server: Describer,
  text: string,
  members: readonly Member[],
): Promise<readonly string[]> {
  try {
    const columns = await server.describe(text)
    const differences = [...compareColumns(members, columns), ...compareKeys(members, text)]
    const keys = members.flatMap((member) => member.keys)
    if (differences.length === 0) await server.describe(probeDocuments(text, keys))
    return differences
  } catch (error) {
    return [`is refused: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function compareColumns(
  members: readonly Member[],
  columns: readonly Described[],
): readonly string[] {
  const described = new Map(columns.map((column) => [column.name, column]))
  const typed = new Set(members.map(({ name }) => name))
  const surplus = columns.filter(({ name }) => !typed.has(name))
  return [
    ...members.flatMap((member) => compareOne(member, described.get(member.name))),
    ...surplus.map(({ name }) => `${name} is not in the type`),
  ]
}

function compareOne(member: Member, column: Described | undefined): readonly string[] {
  const { name, kind, nullable } = member
  if (column === undefined) return [`${name} is not in the rows`]
  const isDocument = column.kind === 'json' && (kind === 'json' || kind.endsWith('[]'))
  return [
    ...(kind === column.kind || isDocument ? [] : [`${name} is ${column.kind}, not ${kind}`]),
    ...(column.nullable && !nullable ? [`${name} may be null`] : []),
  ]
}

function compareKeys(members: readonly Member[], text: string): readonly string[] {
  const keys = members.flatMap((member) => member.keys)
  const typed = new Set(keys.map(({ name }) => name))
  const objects = keys.filter(({ kind }) => ['Date', 'Buffer'].includes(kind))
  const written = new Set(documentKeys(text))
  const missing = [...typed].filter((name) => !written.has(name))
  const surplus = [...written].filter((name) => !typed.has(name))
  return [
    ...missing.map((name) => `${name} is in no document`),
    ...surplus.map((name) => `${name} of a document is not in the type`),
    ...objects.map(({ name, kind }) => `${name} of a document cannot be a ${kind}`),
  ]
}
