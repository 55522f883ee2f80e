import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from '../../src/shared/root.ts'
import { say } from '../../src/shared/terminal/command.ts'
import { openTables } from '../../src/service/database.ts'
import { createKey } from '../../src/service/keys.ts'
import { noDrift } from '../../src/service/upstream/drift.ts'
import { openLocal } from '../../src/service/upstream/local.ts'
import { readSearch } from '../../src/service/schemas.ts'

const pairs = z.array(z.tuple([z.string(), z.string()]))
const shape = z.object({ licence: z.string(), known: pairs, typos: pairs })

/** How often the first page is a right one, from 0 to 1. */
export interface QualityFigures {
  readonly known: Judged
  readonly typos: Judged
}

interface Judged {
  readonly cases: number
  readonly first: number
  readonly firstThree: number
  readonly misses: readonly string[]
}

/** Asks the shipped documents for pages that are known to be there, spelled well and with one slip. */
export async function measureQuality(databaseUrl: string): Promise<QualityFigures> {
  const set = shape.parse(JSON.parse(readFileSync(join(root, 'test/bench/judged.json'), 'utf8')))
  const tables = await openTables(databaseUrl, 2)
  try {
    const { account } = await createKey(tables.pool, { kind: 'live' })
    const local = openLocal(tables, noDrift)
    const find = async (q: string) => {
      const search = readSearch({ q, num: 10 })
      const { answer } = await local.answer(search, {
        account,
        signal: new AbortController().signal,
      })
      return answer.organic_results.map(({ url }) => url)
    }
    return { known: await judge(set.known, find), typos: await judge(set.typos, find) }
  } finally {
    await tables.close()
  }
}

async function judge(
  cases: readonly (readonly [string, string])[],
  find: (q: string) => Promise<string[]>,
): Promise<Judged> {
  const misses: string[] = []
  let [first, firstThree] = [0, 0]
  for (const [q, right] of cases) {
    const urls = await find(q)
    const at = urls.findIndex((url) => new RegExp(right, 'i').test(url))
    if (at === 0) first += 1
    else misses.push(`${q}: ${urls[0] ?? 'nothing'}`)
    if (at >= 0 && at < 3) firstThree += 1
  }
  const share = (count: number) => Math.round((1000 * count) / cases.length) / 1000
  return { cases: cases.length, first: share(first), firstThree: share(firstThree), misses }
}

/** Shows the figures of the judged set. */
export async function benchQuality(databaseUrl: string): Promise<QualityFigures> {
  const figures = await measureQuality(databaseUrl)
  for (const [name, { cases, first, firstThree, misses }] of Object.entries(figures)) {
    say(`${name.padEnd(6)} ${cases} cases  first ${first}  among the first three ${firstThree}`)
    for (const miss of misses as string[]) say(`  not first: ${miss}`)
  }
  return figures
}
