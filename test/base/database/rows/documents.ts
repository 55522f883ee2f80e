// The server describes a document only as jsonb. To check what is written into it, each value is passed to a function
// that accepts only one kind, so that the server rejects the statement if a value does not fit.
import { sql } from 'kysely'
import type { Database } from '../../../../src/base/database/database.ts'
import type { Key } from './members.ts'

/** Server types that may be written where a type expects this kind; the server converts narrower types. */
const takes: Readonly<Record<string, readonly string[]>> = {
  string: ['text', 'uuid', 'date', 'timestamptz'],
  number: ['float8'],
  boolean: ['boolean'],
  json: ['jsonb', 'json', 'anyarray'],
  'string[]': ['text[]', 'jsonb'],
}

/** Creates the functions, for the lifetime of the connection. */
export async function makeProbes(db: Database): Promise<void> {
  for (const [kind, types] of Object.entries(takes)) {
    for (const type of types) {
      await sql`
        create function ${sql.id('pg_temp', `is ${kind}`)} (${sql.raw(type)})
        returns ${sql.raw(type)} language sql as 'select $1'`.execute(db)
    }
  }
}

/** Returns the statement with each value of its documents passed to the function of the declared kind. */
export function probeDocuments(text: string, keys: readonly Key[]): string {
  const cut = cutAtDocument(text)
  if (cut === null) return text
  const [head, rest] = cut
  const given = callArguments(rest)
  const tail = rest.slice(given.join(',').length)
  const probed = given.map((argument, index) => {
    const inside = probeDocuments(argument, keys)
    const kind = kindOf(given[index - 1] ?? '', keys)
    return index % 2 === 1 && kind !== null ? `pg_temp."is ${kind}"(${inside})` : inside
  })
  return `${head}${probed.join(',')}${probeDocuments(tail, keys)}`
}

function kindOf(written: string, keys: readonly Key[]): string | null {
  const kinds = new Set(
    keys.filter(({ name }) => name === unquoted(written)).map(({ kind }) => kind),
  )
  const [kind] = kinds
  // Two documents of one statement may use a name for different things.
  return kinds.size === 1 && kind !== undefined && kind in takes ? kind : null
}

/** Names that a statement writes into documents. */
export function documentKeys(text: string): readonly string[] {
  const [, rest] = cutAtDocument(text) ?? []
  if (rest === undefined) return []
  const names = callArguments(rest).filter((_, index) => index % 2 === 0)
  return [...names.map(unquoted), ...documentKeys(rest)]
}

/** Splits a statement at its first document: the part up to the opening parenthesis, and the rest. */
function cutAtDocument(text: string): [head: string, rest: string] | null {
  const found = /\bjsonb?_build_object\(/.exec(text)
  if (found === null) return null
  const start = found.index + found[0].length
  return [text.slice(0, start), text.slice(start)]
}

function unquoted(argument: string): string {
  return argument.trim().replaceAll("'", '')
}

/** The arguments of a call as written, after its opening parenthesis. */
function callArguments(text: string): readonly string[] {
  const found = ['']
  let depth = 0
  for (const [token] of text.matchAll(/'(?:[^']|'')*'|[^']/gs)) {
    if (token === ')' && depth === 0) return found
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === ',' && depth === 0) found.push('')
    else found.push(`${found.pop() ?? ''}${token}`)
  }
  return found
}
