import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cronOf } from './nights/world.ts'
import { tick, type NightDesk } from '../src/nightly.ts'
import type { Schedule } from '../src/nights/schedules.ts'
import { freshDatabase, type FreshDatabase } from './support/database.ts'

let database: FreshDatabase
let folder: string
let file: string
let said: string[]
let queued: number[]

const market = { origin: 'sandbox', api: 'bundled', account: 'bundled' } as const
const zone = 'Europe/Berlin'

beforeEach(async () => {
  database = await freshDatabase()
  folder = mkdtempSync(join(tmpdir(), 'querymill-nights-'))
  file = join(folder, 'words.csv')
  writeFileSync(file, 'query\nred shoes\nblue shoes\n')
  said = []
  queued = []
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

function scheduleOf(changes: Partial<Schedule> & { pattern?: string } = {}): Schedule {
  const { pattern = '0 2 * * *', ...rest } = changes
  return {
    name: 'words',
    line: 2,
    list: file,
    cron: cronOf(pattern),
    zone,
    maxAgeMs: null,
    budget: null,
    priority: null,
    missed: 'latest',
    overlap: 'skip',
    on: true,
    ...rest,
  }
}

function deskAt(time: string): NightDesk {
  return {
    db: database.db,
    market,
    maxAgeMs: 0,
    queue: async () => ({
      add: async (slices) => {
        for (const { run } of slices) queued.push(run)
      },
    }),
    tell: (line) => said.push(line),
    now: async () => new Date(time),
  }
}

async function tickAt(time: string, ...schedules: Schedule[]): Promise<void> {
  await tick(deskAt(time), { schedules, refusals: [], names: schedules.map(({ name }) => name) })
}

async function nights() {
  const { rows } = await sql<{
    schedule: string
    date: string
    outcome: string | null
    run: number | null
    note: string | null
  }>`
    select schedule, run_date as date, outcome, run_id as run, note
    from nights
    order by due_at, schedule`.execute(database.db)
  return rows
}

async function runs() {
  const { rows } = await sql<{ id: number; date: string; kind: string; state: string }>`
    select id, run_date as date, kind, state
    from runs
    order by id`.execute(database.db)
  return rows
}

async function queriesOf(run: number): Promise<string[]> {
  const { rows } = await sql<{ q: string }>`
    select q
    from tasks
    join queries on queries.id = query_id
    where run_id = ${run}
    order by q`.execute(database.db)
  return rows.map(({ q }) => q)
}

async function answerAll(): Promise<void> {
  await sql`update tasks set state = 'answered', finished_at = now() where state = 'open'`.execute(
    database.db,
  )
  await sql`update slices set done_at = now()`.execute(database.db)
  await sql`update runs set state = 'done', finished_at = now() where state = 'open'`.execute(
    database.db,
  )
}

async function creditRunsOut(): Promise<void> {
  await sql`
    with account as (
      insert into accounts (name, kind)
      values ('bundled', 'sandbox')
      returning id
    )
    insert into stops (account_id, reason)
    select id, 'credit_floor' from account`.execute(database.db)
}

describe('a night', () => {
  test('a schedule seen for the first time begins now: times before that are not made up', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    expect(await nights()).toEqual([])
  })

  test('a due night becomes one nightly run of its local date, with its slices queued', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await tickAt('2026-10-03T00:00:20Z', scheduleOf())
    await tickAt('2026-10-03T00:01:20Z', scheduleOf())
    const [run] = await runs()
    expect(await runs()).toEqual([
      { id: run?.id, date: '2026-10-03', kind: 'nightly', state: 'open' },
    ])
    expect(await nights()).toEqual([
      { schedule: 'words', date: '2026-10-03', outcome: 'ran', run: run?.id, note: null },
    ])
    expect(queued).toEqual([run?.id])
  })

  test('ten schedulers at the same moment make one run', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    const all = Array.from({ length: 10 }, () => tickAt('2026-10-03T00:00:20Z', scheduleOf()))
    await Promise.all(all)
    expect(await runs()).toHaveLength(1)
    expect(await nights()).toHaveLength(1)
  })

  test('two schedules of one list at the same minute never both buy: the second one overlaps', async () => {
    const two = [scheduleOf(), scheduleOf({ name: 'words again' })]
    await tickAt('2026-10-02T12:00:00Z', ...two)
    await Promise.all([
      tickAt('2026-10-03T00:00:20Z', ...two),
      tickAt('2026-10-03T00:00:20Z', ...two.toReversed()),
    ])
    expect(await runs()).toHaveLength(1)
    expect((await nights()).map(({ outcome }) => outcome).toSorted()).toEqual(['ran', 'skipped'])
  })

  test('the file is read again each night: what was added is bought, what was removed is not', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await tickAt('2026-10-03T00:00:20Z', scheduleOf())
    await answerAll()
    writeFileSync(file, 'query\nblue shoes\ngreen shoes\n')
    await tickAt('2026-10-04T00:00:20Z', scheduleOf())
    const [first, second] = await runs()
    expect(await queriesOf(first?.id ?? 0)).toEqual(['blue shoes', 'red shoes'])
    expect(await queriesOf(second?.id ?? 0)).toEqual(['blue shoes', 'green shoes'])
  })

  test.each([
    ['vanished', () => rmSync(file)],
    ['is empty', () => writeFileSync(file, '')],
    ['holds no text', () => writeFileSync(file, Buffer.from([0xff, 0xfe, 0, 0xd8, 1, 0xff]))],
  ])(
    'a list whose file %s is bought as it was last read, and the night says so',
    async (_, spoil) => {
      await tickAt('2026-10-02T12:00:00Z', scheduleOf())
      await tickAt('2026-10-03T00:00:20Z', scheduleOf())
      await answerAll()
      spoil()
      await tickAt('2026-10-04T00:00:20Z', scheduleOf())
      const [, second] = await runs()
      expect(await queriesOf(second?.id ?? 0)).toEqual(['blue shoes', 'red shoes'])
      const [, night] = await nights()
      expect(night?.outcome).toBe('ran')
      expect(night?.note).toContain('the queries last read are used')
    },
  )

  test('a list that nobody ever read and nobody can read fails the night, and the next night tries again', async () => {
    rmSync(file)
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await tickAt('2026-10-03T00:00:20Z', scheduleOf())
    expect((await nights()).map(({ outcome }) => outcome)).toEqual(['failed'])
    expect(await runs()).toEqual([])
    writeFileSync(file, 'query\nred shoes\n')
    await tickAt('2026-10-04T00:00:20Z', scheduleOf())
    expect((await nights()).map(({ outcome }) => outcome)).toEqual(['failed', 'ran'])
  })
})

describe('after an absence', () => {
  const away = '2026-10-05T10:00:00Z'

  async function comeBack(missed: Schedule['missed']): Promise<void> {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf({ missed }))
    await tickAt(away, scheduleOf({ missed }))
  }

  test('the latest night runs late and the ones before it are missed', async () => {
    await comeBack('latest')
    const found = await nights()
    expect(found.map(({ date, outcome }) => [date, outcome])).toEqual([
      ['2026-10-03', 'missed'],
      ['2026-10-04', 'missed'],
      ['2026-10-05', 'late'],
    ])
    expect(await runs()).toHaveLength(1)
  })

  test('all nights run one after the other, each under its own date', async () => {
    await comeBack('all')
    for (let night = 0; night < 3; night++) {
      expect((await runs()).filter(({ state }) => state === 'open')).toHaveLength(1)
      await answerAll()
      await tickAt(away, scheduleOf({ missed: 'all' }))
    }
    expect((await runs()).map(({ date }) => date)).toEqual([
      '2026-10-03',
      '2026-10-04',
      '2026-10-05',
    ])
    expect((await nights()).map(({ outcome }) => outcome)).toEqual(['late', 'late', 'late'])
  })

  test('no night runs when missed ones are left out', async () => {
    await comeBack('skip')
    expect((await nights()).map(({ outcome }) => outcome)).toEqual(['missed', 'missed', 'missed'])
    expect(await runs()).toEqual([])
  })

  test('times of a pattern that was changed meanwhile are missed, and the new one begins now', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await tickAt(away, scheduleOf({ pattern: '0 3 * * *' }))
    expect((await nights()).map(({ outcome }) => outcome)).toEqual(['missed', 'missed', 'missed'])
    await tickAt('2026-10-06T01:00:10Z', scheduleOf({ pattern: '0 3 * * *' }))
    expect((await nights()).at(-1)).toMatchObject({ date: '2026-10-06', outcome: 'ran' })
  })

  test('a schedule that was off begins anew when it is on again', async () => {
    await tickAt('2026-10-02T12:00:00Z', scheduleOf())
    await tickAt('2026-10-02T13:00:00Z', scheduleOf({ on: false }))
    await tickAt(away, scheduleOf())
    expect(await nights()).toEqual([])
  })
})

describe('an overlap', () => {
  async function twoNights(overlap: Schedule['overlap']): Promise<Schedule> {
    const schedule = scheduleOf({ overlap })
    await tickAt('2026-10-02T12:00:00Z', schedule)
    await tickAt('2026-10-03T00:00:20Z', schedule)
    writeFileSync(file, 'query\nred shoes\ngreen shoes\n')
    await tickAt('2026-10-04T00:00:20Z', schedule)
    return schedule
  }

  test('skips the night and names the run that was still going', async () => {
    await twoNights('skip')
    const [first, second] = await nights()
    expect(second?.outcome).toBe('skipped')
    expect(second?.note).toContain(`run ${first?.run} of 2026-10-03 was still going`)
    expect(await runs()).toHaveLength(1)
  })

  test('puts the night off until the run is done, then runs it under its own date', async () => {
    const schedule = await twoNights('queue')
    expect((await nights()).at(-1)).toMatchObject({ outcome: null, run: null })
    await answerAll()
    await tickAt('2026-10-04T03:00:00Z', schedule)
    expect((await nights()).at(-1)).toMatchObject({ date: '2026-10-04', outcome: 'late' })
    expect((await runs()).at(-1)).toMatchObject({ date: '2026-10-04', state: 'open' })
  })

  test('joins the run that is going and adds what it lacks', async () => {
    await twoNights('merge')
    const [first, second] = await nights()
    expect(second).toMatchObject({ outcome: 'ran', run: first?.run })
    expect(await queriesOf(first?.run ?? 0)).toEqual(['blue shoes', 'green shoes', 'red shoes'])
    expect(await runs()).toHaveLength(1)
  })
})

describe('a night cut short by credit', () => {
  async function nextNight(missed: Schedule['missed']): Promise<Schedule> {
    const schedule = scheduleOf({ missed })
    await tickAt('2026-10-02T12:00:00Z', schedule)
    await tickAt('2026-10-03T00:00:20Z', schedule)
    await creditRunsOut()
    await tickAt('2026-10-04T00:00:20Z', schedule)
    return schedule
  }

  test('is closed as partial by the next one when only the latest counts', async () => {
    await nextNight('latest')
    expect((await runs()).map(({ date, state }) => [date, state])).toEqual([
      ['2026-10-03', 'cancelled'],
      ['2026-10-04', 'open'],
    ])
    const [first, second] = await nights()
    expect(first).toMatchObject({ outcome: 'ran' })
    expect(first?.note).toContain('closed as partial, 0 of 2 tasks done')
    expect(second).toMatchObject({ outcome: 'ran', note: null })
  })

  test('is finished under its own date before the next one when all count', async () => {
    const schedule = await nextNight('all')
    expect((await nights()).at(-1)).toMatchObject({ outcome: null })
    expect(await runs()).toMatchObject([{ date: '2026-10-03', state: 'open' }])
    await answerAll()
    await tickAt('2026-10-04T08:00:00Z', schedule)
    expect((await runs()).map(({ date }) => date)).toEqual(['2026-10-03', '2026-10-04'])
  })
})
