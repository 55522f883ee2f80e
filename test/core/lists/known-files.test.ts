// @module-tag slow
// Reads 500 files whose meaning is known: each is read as it is meant, or refused, and no hint leads to rubbish.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { Misuse } from '../../../src/base/errors.ts'
import { openSource } from '../../../src/core/lists/open.ts'
import { readReading, type TypedReading } from '../../../src/core/lists/options.ts'
import { openList } from '../../../src/core/lists/read.ts'
import { type KnownFile, knownFiles } from './list-kinds.ts'

/** The queries of a file, or the message that refuses it. */
async function readFile(path: string, typed: TypedReading): Promise<readonly string[] | string> {
  try {
    const reading = readReading(typed)
    const source = await openSource({ kind: 'file', path, shown: basename(path) }, reading)
    const queries = new Set<string>()
    try {
      const list = await openList(source, reading)
      for await (const piece of list.pieces)
        for (const { query } of piece.queries) queries.add(query.q)
    } finally {
      await source.close()
    }
    return queries.size === 0 ? 'no usable line' : [...queries]
  } catch (error) {
    if (error instanceof Misuse) return error.message
    throw error
  }
}

const conditions: Readonly<Record<string, (file: KnownFile) => boolean>> = {
  'each line is one query': ({ lines }) => lines,
  'it is a query': ({ header }) => !header,
  'it is the header': ({ header }) => header,
  'it is a row': ({ header }) => !header,
  'it is a table': ({ lines }) => !lines,
  'they are queries': ({ lines }) => lines,
  'they are part of each query': ({ lines }) => lines,
  'the file has no header': ({ header }) => !header,
}

/** The flags that a message says to type, without those of a condition that does not hold for the file. */
function hintsOf(message: string, file: KnownFile): TypedReading[] {
  const quoted: string[] = []
  const masked = message.replace(/"(?:[^"\\]|\\.)*"/g, (text) => `"${quoted.push(text) - 1}"`)
  const hints: TypedReading[] = []
  for (const clause of masked.split(/; |, or |, (?=--)| or (?=--)/)) {
    if (Object.entries(conditions).some(([words, holds]) => clause.includes(words) && !holds(file)))
      continue
    if (clause.startsWith('columns of text that would do')) {
      // The message goes on: "name one with --column if it holds queries".
      if (file.queries === null || !file.header) continue
      for (const [, at] of clause.matchAll(/"(\d+)"/g)) {
        const column: unknown = JSON.parse(quoted[Number(at)] ?? '""')
        hints.push({ column: String(column) })
      }
      continue
    }
    const typed: Record<string, unknown> = {}
    for (const [, flag = '', value = ''] of clause.matchAll(/(--[a-z-]+)(?: ("\d+"|[^\s,;]+))?/g)) {
      const said: unknown = value.startsWith('"')
        ? JSON.parse(quoted[Number(value.slice(1, -1))] ?? '""')
        : value
      if (flag === '--no-header') typed['header'] = false
      else if (flag === '--map') typed['map'] = [said]
      else typed[flag.slice(2)] = said
    }
    if (Object.values(typed).some((said) => said !== '')) hints.push(typed)
  }
  return hints
}

async function judge(file: KnownFile, path: string): Promise<{ verdict: string; hints: string[] }> {
  const found = await readFile(path, {})
  if (typeof found !== 'string') {
    const right = !file.refused && JSON.stringify(found) === JSON.stringify(file.queries)
    return { verdict: right ? 'right' : `guessed ${JSON.stringify(found.slice(0, 3))}`, hints: [] }
  }
  const rubbish: string[] = []
  for (const typed of hintsOf(found, file)) {
    const read = await readFile(path, typed)
    if (typeof read === 'string') continue
    const bad = read.filter((query) => file.queries?.includes(query) !== true)
    if (bad.length > 0)
      rubbish.push(`${JSON.stringify(typed)} buys ${JSON.stringify(bad.slice(0, 3))} of: ${found}`)
  }
  return { verdict: file.refused ? 'right' : `refused: ${found}`, hints: rubbish }
}

test('500 files of all kinds are read as they are meant or refused, and what a message says to type buys no rubbish', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'querymill-known-'))
  const guessed: string[] = []
  const refused: string[] = []
  const rubbish: string[] = []
  try {
    for (const file of knownFiles(500, 7)) {
      const path = join(folder, file.name)
      await writeFile(path, file.bytes)
      const { verdict, hints } = await judge(file, path)
      if (verdict.startsWith('guessed')) guessed.push(`${file.kind}: ${verdict}`)
      if (verdict.startsWith('refused')) refused.push(`${file.kind}: ${verdict}`)
      rubbish.push(...hints.map((hint) => `${file.kind}: ${hint}`))
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  expect(guessed).toEqual([])
  expect(rubbish).toEqual([])
  expect(refused.length, refused.join('\n')).toBeLessThanOrEqual(5)
})
