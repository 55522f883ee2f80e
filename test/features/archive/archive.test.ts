// @module-tag slow
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { archiveSteps, checkArchive } from '../../../src/features/archive/day.ts'
import {
  holdArchive,
  readArchivedDays,
  readLeavingDays,
} from '../../../src/features/archive/days.ts'
import { loadArchive } from '../../../src/features/archive/load.ts'
import { verifyPromises } from '../../support/promises.ts'
import { makePast, moveAll, readTables, returnAll } from '../../support/archive.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { mayMount, smallDisk } from '../../support/disk.ts'
import { temporaryFolder } from '../../support/place.ts'
import { Story, ten } from '../analysis/story.ts'

let database: FreshDatabase
let folder: string
beforeEach(async () => {
  database = await freshDatabase()
  folder = join(temporaryFolder('archive'), 'kept')
})
afterEach(() => database.close())

const count = async (table: string) => {
  const { rows } = await database.pool.query<{ n: number }>(`select count(*) as n from ${table}`)
  return rows[0]?.n
}

/** Checks that concern the archive; the generated history violates some others. */
const ours = /archive|results as it counts|finished day|only answers have/

async function broken() {
  const checks = await verifyPromises(database.db)
  return checks.filter(({ ok, name }) => !ok && ours.test(name)).map(({ name }) => name)
}

describe('archiving and restoring', () => {
  test.each(['one', 'two'])(
    'restores the same rows, row by row, for random histories (%s)',
    async (seed) => {
      await makePast(database, seed)
      await finishDays(database.db)
      const before = await readTables(database.pool)
      const moved = await moveAll(database, { folder })
      expect(moved.length).toBeGreaterThan(3)
      expect(await count('organic_results')).toBe(0)
      expect(await count('raw_answers')).toBe(0)
      const gone = await readTables(database.pool)
      expect(gone['calls']).toEqual(before['calls'])
      expect(gone['finished_shares']).toEqual(before['finished_shares'])
      expect(await broken()).toEqual([])
      await returnAll(database)
      expect(await readTables(database.pool)).toEqual(before)
      expect(await broken()).toEqual([])
    },
  )
})

test('interrupted at any step loses and duplicates nothing, and the next one completes it', async () => {
  await makePast(database, 'cut')
  const before = await readTables(database.pool)
  const told: unknown[] = []
  for (const last of archiveSteps) {
    const step = (name: string) => {
      if (name === last) throw new Error(`cut at ${last}`)
    }
    await expect(moveAll(database, { folder, step })).rejects.toThrow(`cut at ${last}`)
    const left = await readTables(database.pool)
    told.push([last, left['archived_days']?.length, isDeepStrictEqual(left, before)])
  }
  const untouched = archiveSteps.slice(0, -1).map((step) => [step, 0, true])
  expect(told).toEqual([...untouched, ['committed', 1, false]])
  expect(await broken()).toEqual([])
  await moveAll(database, { folder })
  expect(await count('organic_results')).toBe(0)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => name.endsWith('.part'))).toEqual([])
  await returnAll(database)
  expect(await readTables(database.pool)).toEqual(before)
})

describe('an obstacle for the archive', () => {
  const sabotage = async (
    change: (day: string) => void | Promise<void>,
  ): Promise<readonly string[]> => {
    await makePast(database, 'way', 3)
    await moveAll(database, { folder })
    const gone = await readTables(database.pool)
    await change('2025-01-02')
    const days = await readArchivedDays(database.db)
    const installation = await installationId(database.db)
    const asked = {
      folder: undefined,
      installation,
      report: () => undefined,
    }
    const { problems } = await checkArchive(days, asked)
    await expect(returnAll(database)).rejects.toThrow(
      /nothing was changed|restore the original file|another/,
    )
    // The newest day was restored first; nothing of the changed one was.
    const now = await readArchivedDays(database.db)
    expect(now.map(({ run_date: day }) => day)).toEqual(['2025-01-01', '2025-01-02'])
    expect(gone['organic_results']).toEqual([])
    expect(await broken()).toEqual([])
    return problems
  }

  test('such as a missing file is reported by name, and nothing of its day is restored', async () => {
    const path = 'organic_results/run_date=2025-01-02/1-001.parquet'
    const problems = await sabotage(() => rmSync(join(folder, path)))
    expect(problems).toEqual([
      expect.stringContaining(`expected the archive file ${join(folder, path)}, got no such file`),
    ])
  })

  test('such as a changed byte in a file or manifest is reported', async () => {
    const change = (path: string) => {
      const bytes = readFileSync(path)
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      writeFileSync(path, bytes)
    }
    const problems = await sabotage((day) => {
      change(join(folder, `days/${day}.1.json`))
      change(join(folder, 'searches/run_date=2025-01-01/1-001.parquet'))
    })
    expect(problems).toEqual([
      expect.stringMatching(/^2025-01-01: expected .*searches.* to be unchanged \(/),
      expect.stringMatching(/^2025-01-02: expected .*2025-01-02\.1\.json to be unchanged \(/),
    ])
  })

  test('such as a folder of another installation, a file or a second archive command is refused, and nothing is archived', async () => {
    await makePast(database, 'way', 2)
    const before = await readTables(database.pool)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'archive.json'), '{"installation": "another"}')
    await expect(moveAll(database, { folder })).rejects.toThrow(
      'an archive of another installation',
    )
    writeFileSync(join(folder, 'file'), '')
    await expect(moveAll(database, { folder: join(folder, 'file') })).rejects.toThrow(
      /to be writable, got a file instead of a folder/,
    )
    const held = await holdArchive(database.pool)
    await expect(moveAll(database, { folder })).rejects.toThrow(
      'another npm run archive, or a query',
    )
    held.release(true)
    expect(await readTables(database.pool)).toEqual(before)
  })

  test.runIf(mayMount())(
    'such as a full disk is reported, leaves no drafts, and nothing is archived',
    async () => {
      await makePast(database, 'full', 2)
      const before = await readTables(database.pool)
      const disk = smallDisk(1)
      await moveAll(database, { folder: join(disk.folder, 'kept'), before: '2025-01-01' })
      disk.fill()
      await expect(moveAll(database, { folder: join(disk.folder, 'kept') })).rejects.toThrow(
        'got no space left',
      )
      expect(await readTables(database.pool)).toEqual(before)
      const names = readdirSync(join(disk.folder, 'kept'), { recursive: true, encoding: 'utf8' })
      expect(names.filter((name) => name.endsWith('.part'))).toEqual([])
    },
  )

  test('such as a database restored from before an answer does not overwrite the files that contain it', async () => {
    const story = await makePast(database, 'older', 2)
    await moveAll(database, { folder, before: '2025-01-02' })
    const manifest = readFileSync(join(folder, 'days/2025-01-01.1.json'), 'utf8')
    const kept = join(folder, 'days/2025-01-01.1.json')
    await returnAll(database)
    // The same files, and a database without the last answer of the day.
    const again = moveAll(database, {
      folder,
      before: '2025-01-02',
      step: (name) => {
        if (name === 'removed') throw new Error('cut')
      },
    })
    await expect(again).rejects.toThrow('cut')
    expect(readFileSync(kept, 'utf8')).toBe(manifest)
    const id = story.idOf('boots')
    await database.pool.query(
      'delete from organic_results where search_id in (select id from searches where query_id = $1)',
      [id],
    )
    await database.pool.query('delete from searches where query_id = $1', [id])
    await expect(moveAll(database, { folder })).rejects.toThrow(
      'answers that are not in the tables',
    )
    expect(readFileSync(kept, 'utf8')).toBe(manifest)
  })

  test('such as an open run keeps its day and later days in the tables, and is named', async () => {
    await makePast(database, 'open', 3)
    await database.pool.query("update runs set state = 'open' where run_date = '2025-01-02'")
    const { days, kept } = await readLeavingDays(database.db, 0)
    expect(days).toEqual(['2025-01-01'])
    expect(kept).toMatchObject({ day: '2025-01-02' })
  })
})

describe('changes during archiving', () => {
  test('such as a late answer stay in the tables, and are archived with the next part of their day', async () => {
    const story = await makePast(database, 'late', 2)
    const { rows } = await database.pool.query<{ id: number }>(
      "select searches.id from searches join tasks on tasks.id = task_id join runs on runs.id = run_id where run_date = '2025-01-01'",
    )
    let late = 0
    const step = async (name: string) => {
      if (name !== 'written' || late !== 0) return
      late = await story.late(rows[0]?.id ?? 0, { results: ['late.com/'] })
      await database.pool.query(
        `insert into raw_answers (call_id, status, received_at, truncated, body)
        select call_id, 200, fetched_at, false, '{}' from searches where id = $1`,
        [late],
      )
    }
    await moveAll(database, { folder, step, before: '2025-01-02' })
    expect(await count('organic_results where search_id = ' + late)).toBe(1)
    expect(await broken()).toEqual([])
    const before = await readTables(database.pool)
    expect(await moveAll(database, { folder, before: '2025-01-02' })).toEqual([
      expect.objectContaining({ run_date: '2025-01-01', part: 2, answers: 1 }),
    ])
    expect(await count('archived_days')).toBe(2)
    await returnAll(database)
    expect((await readTables(database.pool))['organic_results']).toEqual(
      expect.arrayContaining([...(before['organic_results'] ?? [])]),
    )
    expect(await count('archived_days')).toBe(0)
  })

  test('such as an answer that is parsed again are archived in their new state', async () => {
    await makePast(database, 'reread', 1)
    let changed = false
    const step = async (name: string) => {
      if (name !== 'written' || changed) return
      changed = true
      await database.pool.query("update organic_results set title = 'read again' where ordinal = 1")
    }
    await moveAll(database, { folder, step })
    await returnAll(database)
    const { rows } = await database.pool.query<{ title: string }>(
      'select distinct title from organic_results where ordinal = 1',
    )
    expect(rows).toEqual([{ title: 'read again' }])
  })

  test('do not affect an answer that a later day uses, which stays until that day is archived', async () => {
    const story = new Story(database.pool)
    await database.pool.query("insert into accounts (name, kind) values ('bank', 'live')")
    await story.night('2025-01-01', { shoes: ten('a'), boots: ten('b') })
    await story.night('2025-01-02', { shoes: 'not_asked', boots: ten('c') })
    await moveAll(database, { folder, before: '2025-01-02' })
    const shown = `analysis.results where run_date = '2025-01-02' and q = 'shoes'`
    expect(await count(shown)).toBe(10)
    expect(await count(`analysis.results where run_date = '2025-01-01'`)).toBe(0)
    await moveAll(database, { folder })
    expect(await count('organic_results')).toBe(0)
    expect(await count('archived_days')).toBe(3)
    expect(await broken()).toEqual([])
    // If only the later day is loaded, the archive returns the answer that it used, and nothing else of the earlier
    // day.
    const client = await database.pool.connect()
    const span = { since: '2025-01-02', until: '2025-01-02' }
    const installation = await installationId(database.db)
    const text = 'select from analysis.results'
    const report = () => undefined
    const reading = { db: database.db, installation, text, span, report }
    await loadArchive(client, reading)
    const { rows } = await client.query<{ day: string; n: number }>(
      'select run_date as day, count(*) as n from analysis.results group by run_date',
    )
    client.release(true)
    expect(rows).toEqual([{ day: '2025-01-02', n: 20 }])
  })
})
