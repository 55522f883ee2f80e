// @module-tag slow
// Plans 500 files whose meaning is known. Each is bought as intended or rejected, and no hint leads to a wrong purchase.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import type { Environment } from '../../../src/base/config.ts'
import { Misuse } from '../../../src/base/errors.ts'
import { openSource } from '../../../src/core/lists/open.ts'
import { readReading, type ReadingFlags } from '../../../src/core/lists/options.ts'
import { openList } from '../../../src/core/lists/read.ts'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'
import { type KnownFile, knownFiles } from './list-kinds.ts'

/** Returns the queries in a file, or the message that rejects it. */
async function readFile(path: string, typed: ReadingFlags): Promise<readonly string[] | string> {
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

/** Returns the flags that a message recommends for the file. */
function hintsOf(message: string, file: KnownFile): ReadingFlags[] {
  const quoted: string[] = []
  const masked = message.replace(/"(?:[^"\\]|\\.)*"/g, (text) => `"${quoted.push(text) - 1}"`)
  const hints: ReadingFlags[] = []
  for (const clause of masked.split(/; |, or |, (?=--)| or (?=--)/)) {
    if (Object.entries(conditions).some(([words, holds]) => clause.includes(words) && !holds(file)))
      continue
    if (clause.startsWith('possible columns')) {
      // The message continues: "if one of them contains queries, select it with --column".
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

/** Returns the recommended flags with which the wrong queries would be bought. */
async function rubbishOf(message: string, file: KnownFile, path: string): Promise<string[]> {
  const rubbish: string[] = []
  for (const typed of hintsOf(message, file)) {
    const read = await readFile(path, typed)
    if (typeof read === 'string') continue
    const bad = read.filter((query) => file.queries?.includes(query) !== true)
    if (bad.length > 0)
      rubbish.push(
        `${JSON.stringify(typed)} buys ${JSON.stringify(bad.slice(0, 3))} of: ${message}`,
      )
  }
  return rubbish
}

interface Plan {
  readonly tasks: number
  readonly sample: { readonly first: readonly { q: string }[]; readonly last: { q: string } }
}

/** Returns the queries that would be bought from each file; null for a rejected file. */
async function plansOf(paths: readonly string[], env: Environment): Promise<(Plan | null)[]> {
  const { code, stdout } = await run('enqueue', [...paths, '--dry-run', '--json'], env)
  if (code === 0) return JSON.parse(stdout).runs
  expect(code).toBe(2)
  if (paths.length === 1) return [null]
  const plans = []
  for (const path of paths) plans.push(...(await plansOf([path], env)))
  return plans
}

function isMeant(plan: Plan | null, read: unknown, queries: readonly string[]): boolean {
  if (plan?.tasks !== queries.length) return false
  const { first, last } = plan.sample
  const sample = [...first, last].map(({ q }) => q)
  const wanted = [...queries.slice(0, 3), queries.at(-1)]
  return JSON.stringify([sample, read]) === JSON.stringify([wanted, queries])
}

const together = 25

test('500 files of all kinds are planned as they are meant or refused, and what a message says to type buys no rubbish', async () => {
  const { mill } = await openScene()
  const folder = await mkdtemp(join(tmpdir(), 'querymill-known-'))
  const verdicts = { bought: 0, 'rightly refused': 0, refused: 0, guessed: 0 }
  const problems: string[] = []
  try {
    const files = knownFiles(500, 7).map((file, at) => ({
      file,
      path: join(folder, `${at}-${file.name}`),
    }))
    for (const { path, file } of files) await writeFile(path, file.bytes)
    const lists = files.filter(({ file }) => !file.refused)
    const groups = files.filter(({ file }) => file.refused).map((one) => [one])
    for (let at = 0; at < lists.length; at += together) groups.push(lists.slice(at, at + together))
    for (const group of groups) {
      const plans = await plansOf(
        group.map(({ path }) => path),
        mill.env,
      )
      for (const [at, { file, path }] of group.entries()) {
        const plan = plans[at] ?? null
        const read = await readFile(path, {})
        if (plan === null && typeof read === 'string') {
          verdicts[file.refused ? 'rightly refused' : 'refused']++
          if (!file.refused) problems.push(`${file.kind}: refused: ${read}`)
          const rubbish = await rubbishOf(read, file, path)
          problems.push(...rubbish.map((hint) => `${file.kind}: ${hint}`))
        } else if (!file.refused && isMeant(plan, read, file.queries ?? [])) verdicts.bought++
        else {
          verdicts.guessed++
          problems.push(`${file.kind}: guessed ${JSON.stringify(plan?.sample ?? read)}`)
        }
      }
    }
  } finally {
    await rm(folder, { recursive: true })
  }
  expect(problems).toEqual([])
  expect(verdicts).toMatchObject({ refused: 0, guessed: 0 })
  expect(verdicts.bought + verdicts['rightly refused']).toBe(500)
})
