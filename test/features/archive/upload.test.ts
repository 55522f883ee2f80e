// @module-tag slow
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Unreachable } from '../../../src/base/errors.ts'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { checkArchive } from '../../../src/features/archive/back.ts'
import { archiveSteps } from '../../../src/features/archive/day.ts'
import { readArchivedDays } from '../../../src/features/archive/days.ts'
import { loadArchive } from '../../../src/features/archive/load.ts'
import { makePast, moveAll, placesOf, readTables, returnAll } from '../../support/archive.ts'
import { type BucketServer, type MetRequest, startBuckets } from '../../support/bucket.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
let buckets: BucketServer
let folder: string
beforeEach(async () => {
  database = await freshDatabase()
  buckets = await startBuckets()
  folder = `${buckets.address}/of/ours`
})
afterEach(async () => {
  await buckets.close()
  await database.close()
})

const move = () => moveAll(database, { folder, env: buckets.env })
const back = () => returnAll(database, buckets.env)
const rows = async (statement: string) => (await database.pool.query<object>(statement)).rows

async function check() {
  const installation = await installationId(database.db)
  const asked = { folder: undefined, places: placesOf(buckets.env), installation }
  const tell = () => undefined
  return checkArchive(await readArchivedDays(database.db), { ...asked, report: tell })
}

const question = `select run_date, q, position, domain, title, snippet
  from analysis.results order by run_date, q, position, title`

/** What a connection answers that has read the archive out of the bucket. */
async function askBoth() {
  const { db, pool } = database
  const client = await pool.connect()
  const [places, installation] = [placesOf(buckets.env), await installationId(db)]
  const tell = () => undefined
  try {
    await loadArchive(client, { db, installation, text: question, places, report: tell })
    return (await client.query<object>(question)).rows
  } finally {
    client.release(true)
  }
}

test('days leave for a bucket, are read there as they were in the tables, and come back row for row', async () => {
  await makePast(database, 'bucket')
  const [before, asked] = [await readTables(database.pool), await rows(question)]
  expect(asked.length).toBeGreaterThan(50)
  const moved = await move()
  expect(moved.length).toBeGreaterThan(3)
  expect(await rows('select from organic_results')).toEqual([])
  expect(buckets.names()).toContain('of/ours/organic_results/run_date=2025-01-01/1-001.parquet')
  expect(await check()).toMatchObject({ days: moved.length, problems: [], unknown: [] })
  expect(await askBoth()).toEqual(asked)
  await back()
  expect(await readTables(database.pool)).toEqual(before)
  expect(buckets.names()).toEqual(['of/ours/archive.json'])
})

test('an archive into a bucket that is cut short at any step loses and doubles nothing, and the next one ends it', async () => {
  await makePast(database, 'cut', 2)
  const before = await readTables(database.pool)
  for (const last of archiveSteps) {
    const step = (name: string) => {
      if (name === last) throw new Error(`cut at ${last}`)
    }
    await expect(moveAll(database, { folder, env: buckets.env, step })).rejects.toThrow('cut at')
    const untouched = isDeepStrictEqual(await readTables(database.pool), before)
    expect([last, untouched]).toEqual([last, last !== 'committed'])
  }
  await move()
  expect(await check()).toMatchObject({ days: 2, problems: [], unknown: [] })
  await back()
  expect(await readTables(database.pool)).toEqual(before)
  expect(buckets.names()).toEqual(['of/ours/archive.json'])
})

/** What an archive leaves that is cut short behind its manifest. */
async function leaveOver(): Promise<void> {
  const step = (name: string) => {
    if (name === 'promised') throw new Error('cut')
  }
  await expect(moveAll(database, { folder, env: buckets.env, step })).rejects.toThrow('cut')
}

const ours = /archive\.json$/
const parquet = /of\/ours\/tasks\/.*parquet$/
const troubled: readonly (readonly [what: string, method: string, name: RegExp])[] = [
  ['looking whose archive it is', 'GET', ours],
  ['saying whose it is', 'PUT', ours],
  ['looking for leftovers', 'GET', /^$/],
  ['putting a file', 'PUT', parquet],
  ['reading a file again', 'GET', parquet],
  ['putting the manifest', 'PUT', /days\/2025-01-01\.1\.json$/],
  ['removing what is left over', 'DELETE', /./],
]

describe('a bucket that refuses', () => {
  test.each(troubled)(
    'while %s ends the archive as something out of reach; nothing is lost, and the next one clears up and ends it',
    async (_, method, name) => {
      await makePast(database, 'trouble', 1)
      const before = await readTables(database.pool)
      const hit = (request: MetRequest) => request.method === method && name.test(request.name)
      // Something is left over, for whoever looks for it, reads it and removes it; but not where nothing was ever there.
      if (method !== 'PUT' || name !== ours) await leaveOver()
      for (const trouble of ['refuse', 'busy', 'cut'] as const) {
        let met = 0
        buckets.meet = (request) => {
          if (!hit(request)) return undefined
          met += 1
          return trouble
        }
        const error = await move().then(
          () => null,
          (thrown: unknown) => thrown,
        )
        expect(error, trouble).toBeInstanceOf(Unreachable)
        expect(String(error)).toContain('s3://kept/of/ours')
        expect(met).toBeGreaterThan(0)
        expect(await readTables(database.pool)).toEqual(before)
      }
      buckets.meet = () => undefined
      await move()
      expect(await rows('select from organic_results')).toEqual([])
      expect(await check()).toMatchObject({ days: 1, problems: [], unknown: [] })
      await back()
      expect(await readTables(database.pool)).toEqual(before)
      expect(buckets.names()).toEqual(['of/ours/archive.json'])
    },
  )

  test('for a moment is asked again, and nobody notices', async () => {
    await makePast(database, 'moment', 1)
    const seen = new Set<string>()
    buckets.meet = ({ method, name }) => {
      const first = method === 'PUT' && !seen.has(name)
      seen.add(name)
      return first ? 'busy' : undefined
    }
    expect(await move()).toHaveLength(1)
    expect(await check()).toMatchObject({ days: 1, problems: [] })
  })

  test('while days are read changes nothing, and is not taken for a damaged archive', async () => {
    await makePast(database, 'reading', 2)
    await move()
    const gone = await readTables(database.pool)
    for (const trouble of ['refuse', 'cut'] as const) {
      buckets.meet = ({ name }) => (parquet.test(name) ? trouble : undefined)
      await expect(check()).rejects.toThrow(Unreachable)
      buckets.meet = ({ name }) => (/organic.*parquet$/.test(name) ? trouble : undefined)
      await expect(back()).rejects.toThrow(Unreachable)
      await expect(askBoth()).rejects.toThrow(Unreachable)
      expect(await readTables(database.pool)).toEqual(gone)
    }
  })
})

test('what the bucket holds is read again before a row goes: a file that is not what was sent keeps its day here', async () => {
  await makePast(database, 'altered', 1)
  const before = await readTables(database.pool)
  buckets.meet = ({ method, name }) => {
    if (method === 'GET' && parquet.test(name)) buckets.change(name)
    return undefined
  }
  await expect(move()).rejects.toThrow(/to hold what was uploaded .* no row was removed/)
  expect(await readTables(database.pool)).toEqual(before)
})

describe('what became of a bucket', () => {
  test('a file that was changed or removed is told by its name, and nothing of its day comes back', async () => {
    await makePast(database, 'become', 3)
    await move()
    buckets.change('of/ours/searches/run_date=2025-01-01/1-001.parquet')
    buckets.remove('of/ours/organic_results/run_date=2025-01-02/1-001.parquet')
    buckets.change('of/ours/days/2025-01-03.1.json')
    const { problems } = await check()
    expect(problems).toEqual([
      expect.stringMatching(/^2025-01-01: expected s3:\S+searches\S+ as it was written/),
      expect.stringMatching(/^2025-01-02: expected the file s3:\S+organic\S+ .* nothing there/),
      expect.stringMatching(/^2025-01-03: expected s3:\S+2025-01-03\.1\.json as it was written/),
    ])
    const gone = await readTables(database.pool)
    await expect(back()).rejects.toThrow('2025-01-03.1.json as it was written')
    expect(await readTables(database.pool)).toEqual(gone)
  })

  test('one of another installation is refused, and nothing leaves', async () => {
    await makePast(database, 'theirs', 1)
    const before = await readTables(database.pool)
    buckets.add('of/ours/archive.json', '{"installation": "another"}')
    await expect(move()).rejects.toThrow('expected s3://kept/of/ours to be empty or an archive')
    expect(await readTables(database.pool)).toEqual(before)
    expect(buckets.names()).toEqual(['of/ours/archive.json'])
  })

  test('more files than a bucket lists at once are all seen', async () => {
    const names = Array.from({ length: 1_001 }, (_, at) => `${1000 + at}-01-01.1.json`)
    for (const name of names) buckets.add(`of/ours/days/${name}`)
    const found = await placesOf(buckets.env)(folder).list('days')
    expect(found).toEqual(names)
  })
})
