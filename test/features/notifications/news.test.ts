// @module-tag slow
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/base/config.ts'
import { reopenTasks } from '../../../src/core/runs/retry.ts'
import {
  claimNotice,
  listNotices,
  recordNotices,
  startNotices,
  sendNotices,
} from '../../../src/features/notifications/news.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let database: FreshDatabase
let receiver: Receiver
const said: string[] = []

beforeEach(async () => {
  database = await freshDatabase()
  receiver = await openReceiver()
  said.splice(0)
})

afterEach(async () => {
  await receiver.close()
  await database.close()
})

const unattendedMs = 1_800_000

function tell(events?: readonly string[]): Promise<string | null> {
  const webhook = receiver.webhook(events === undefined ? {} : { events })
  return sendNotices(database.db, { webhook, unattendedMs })
}

/** As if every pause were over, and every sending process had ended. */
async function later(age = '0'): Promise<void> {
  await sql`
    update notices
    set due_at = now() - interval '1 second', noted_at = noted_at - ${age}::interval`.execute(
    database.db,
  )
}

async function clock(): Promise<string> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(
    database.db,
  )
  return rows[0]?.now ?? ''
}

async function states(): Promise<string[]> {
  return (await listNotices(database.db, 100)).map(({ state }) => state)
}

async function happen(): Promise<void> {
  await sql`
    with list as (
      insert into lists (name, source) values ('words', 'words.csv') returning id
    ),
    run as (
      insert into runs (list_id, run_date, kind, state, spent, finished_at)
      select id, '2026-10-03', 'nightly', 'done', 42, now() from list
      returning id
    ),
    account as (
      insert into accounts (name, kind) values ('api.example.com', 'live') returning id
    ),
    stop as (
      insert into stops (account_id, reason, detail)
      select id, 'credit_floor', '103 credits left, 100 must stay' from account
    )
    insert into nights (schedule, due_at, run_date, outcome, note)
    select 'words', now() - age * interval '1 day', current_date, 'missed', 'no scheduler was there'
    from generate_series(1, 3) as age`.execute(database.db)
}

describe('notices', () => {
  test('have one line each for a finished run, a stop and missed nights', async () => {
    await happen()
    expect(await tell()).toBeNull()
    expect(receiver.bodies()).toHaveLength(3)
    const texts = receiver.bodies().map(({ text }) => text)
    expect(texts).toContainEqual(
      expect.stringMatching(
        /run \d+ of words for 2026-10-03 is finished: no tasks; 42 credits used/,
      ),
    )
    expect(texts).toContainEqual(
      'querymill: account api.example.com is stopped (credit_floor): 103 credits left, 100 must stay',
    )
    expect(texts).toContainEqual(
      expect.stringMatching(/words, due 3 times up to \d{4}-\d\d-\d\d \d\d:\d\d UTC, was missed/),
    )
    for (const text of texts) expect(text).not.toContain('\n')
    const run = receiver.bodies().find(({ event }) => event === 'run_finished')
    expect(run).toMatchObject({ list: 'words', run_date: '2026-10-03', state: 'done', spent: 42 })
    expect(await states()).toEqual(['told', 'told', 'told'])
  })

  test('are posted once by several concurrent processes', async () => {
    await happen()
    await Promise.all([tell(), tell(), tell(), tell()])
    await tell()
    expect(receiver.got).toHaveLength(3)
    expect(new Set(receiver.bodies().map(({ id }) => id)).size).toBe(3)
  })

  test('that were refused keep their id in each further try, with growing intervals', async () => {
    await happen()
    receiver.statuses = [500, 503, 500, 429]
    const waits: { least: number; most: number }[] = []
    for (let tries = 0; tries < 3; tries += 1) {
      const before = await clock()
      expect(await tell(['stop'])).toMatch(/got status 50[03]$/)
      const { rows } = await sql<{ least: number; most: number }>`
        select
          extract(epoch from due_at - clock_timestamp())::float8 as least,
          extract(epoch from due_at - ${before}::timestamptz)::float8 as most
        from notices
        where kind = 'stop'`.execute(database.db)
      waits.push(...rows)
      expect(await states()).toEqual(['waiting'])
      await later()
    }
    expect(waits[0]?.most).toBeGreaterThan(4)
    expect(waits[0]?.least).toBeLessThan(6)
    expect(waits[1]?.most).toBeGreaterThan(14)
    expect(waits[2]?.most).toBeGreaterThan(59)
    expect(await tell(['stop'])).toMatch(/got status 429$/)
    await later()
    expect(await tell(['stop'])).toBeNull()
    const ids = receiver.got.map(({ headers }) => headers['webhook-id'])
    expect(ids).toHaveLength(5)
    expect(new Set(ids).size).toBe(1)
    expect(receiver.bodies().map(({ id }) => id)).toEqual([ids[0]])
  })

  test('wait as long as the receiver requests', async () => {
    await happen()
    receiver.statuses = [429]
    receiver.headers = { 'retry-after': '600' }
    const before = await clock()
    await tell(['stop'])
    const { rows } = await sql<{ wait: number }>`
      select extract(epoch from due_at - ${before}::timestamptz)::float8 as wait
      from notices
      where told_at is null and kind = 'stop'`.execute(database.db)
    expect(rows[0]?.wait).toBeGreaterThan(590)
  })

  test('that a killed process had claimed are sent by another one, with the same id', async () => {
    await happen()
    const webhook = receiver.webhook({ events: ['stop'] })
    await recordNotices(database.db, { webhook, unattendedMs })
    const dead = await claimNotice(database.db, { kinds: ['stop'], forMs: 60_000 })
    expect(await tell(['stop'])).toBeNull()
    expect(receiver.got).toEqual([])
    await later()
    await tell(['stop'])
    expect(receiver.bodies()).toMatchObject([{ event: 'stop', id: dead?.id }])
  })

  test('are sent once per check to a failing receiver, and no message contains its address', async () => {
    await happen()
    receiver.statuses = [500, 404]
    expect(await tell()).not.toContain('secret-path')
    expect(receiver.got).toHaveLength(1)
    expect(await tell()).toMatch(/got status 404$/)
    expect(receiver.got).toHaveLength(2)
    expect(await tell()).toBeNull()
    await later()
    await tell()
    expect(receiver.bodies()).toHaveLength(3)
  })

  test('that the receiver rejects do not delay any other', async () => {
    await happen()
    receiver.statuses = [400]
    expect(await tell()).toMatch(/got status 400$/)
    expect(receiver.bodies()).toHaveLength(2)
  })

  test('that were not accepted for a day are given up, and stored with the reason', async () => {
    await happen()
    receiver.statuses = [500, 500]
    await tell(['stop'])
    await later('25 hours')
    expect(await tell(['stop'])).toMatch(/given up after a day$/)
    await later()
    expect(await tell(['stop'])).toBeNull()
    expect(await listNotices(database.db, 9)).toMatchObject([
      { event: 'stop', state: 'given up', tries: 2, problem: expect.stringContaining('500') },
    ])
  })

  test('are recorded only for the selected events', async () => {
    await happen()
    await tell(['stop'])
    expect(receiver.bodies().map(({ event }) => event)).toEqual(['stop'])
    expect(await states()).toEqual(['told'])
  })

  test('to a receiver that never responds do not prevent a command from ending', async () => {
    await happen()
    receiver.statuses = ['never', 'never', 'never']
    const options = { webhook: receiver.webhook(), unattendedMs, everyMs: 50 }
    const news = startNotices(database.db, { ...options, report: (line) => said.push(line) })
    await expect.poll(() => receiver.got.length).toBeGreaterThan(0)
    await news.close()
    expect(said).toEqual([])
    expect(await states()).toContain('waiting')
  })

  test('with an unmigrated database give one message, and are checked again', async () => {
    const options = { webhook: receiver.webhook(), unattendedMs, everyMs: 20 }
    await sql`alter table notices rename to elsewhere`.execute(database.db)
    const news = startNotices(database.db, { ...options, report: (line) => said.push(line) })
    await expect.poll(() => said.length).toBe(1)
    await sql`alter table elsewhere rename to notices`.execute(database.db)
    await happen()
    await expect.poll(() => receiver.bodies().length).toBe(3)
    await news.close()
    expect(said).toEqual([expect.stringMatching(/^notices cannot be read: /)])
  })

  test('are not posted for events of more than a day ago', async () => {
    await happen()
    await sql`update runs set finished_at = now() - interval '1 day'`.execute(database.db)
    await sql`update stops set since = now() - interval '1 day'`.execute(database.db)
    await sql`update nights set decided_at = now() - interval '1 day'`.execute(database.db)
    await tell()
    expect(receiver.got).toEqual([])
  })

  test('report an undecided night as overdue, once', async () => {
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values (
        'words', 'words', '0 * * * *', 'UTC', 'latest', 'skip', true,
        now() - interval '3 hours', now() - interval '3 hours'
      )`.execute(database.db)
    await tell()
    await tell()
    expect(receiver.bodies()).toMatchObject([{ event: 'night_overdue', schedule: 'words' }])
  })
})

describe('open tasks without a worker', () => {
  async function openRun(age: string, tasks = 3): Promise<void> {
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv')
        on conflict (name) do update set source = excluded.source
        returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, created_at)
        select id, '2026-10-03', 'nightly', 'open', now() - ${age}::interval from list
        returning id
      ),
      slice as (insert into slices (run_id, slice, priority) select id, 0, 5 from run)
      insert into tasks (run_id, query_id, slice)
      select run.id, gen_random_uuid(), 0 from run, generate_series(1, ${tasks}::integer)`.execute(
      database.db,
    )
  }

  /** A worker whose lease ends in this time, or ended this long ago. */
  async function worker(lease: string, stopped: string | null = null): Promise<void> {
    await sql`
      with account as (
        insert into accounts (name, kind) values ('a', 'live')
        on conflict (name, kind) do update set kind = excluded.kind
        returning id
      )
      insert into workers (account_id, host, pid, floor, concurrency, lease_until, stopped_at)
      select id, 'h', 1, 0, 1, now() + ${lease}::interval, now() - ${stopped}::interval
      from account`.execute(database.db)
  }

  const events = ['work_unattended']

  test('for more than half an hour are reported once, until a worker came and went', async () => {
    await openRun('31 minutes')
    await tell(events)
    await openRun('3 hours')
    await tell(events)
    expect(receiver.bodies()).toMatchObject([
      {
        event: 'work_unattended',
        tasks: 3,
        text: expect.stringMatching(
          /^querymill: 3 open tasks, but no worker has run since \d{4}-\d\d-\d\d \d\d:\d\d UTC; to start a worker: /,
        ),
      },
    ])
    await worker('1 minute')
    await tell(events)
    await sql`update notices set noted_at = noted_at - interval '2 hours'`.execute(database.db)
    await sql`update workers set lease_until = now() - interval '29 minutes'`.execute(database.db)
    await tell(events)
    expect(receiver.bodies()).toHaveLength(1)
    await sql`update workers set lease_until = now() - interval '31 minutes'`.execute(database.db)
    await tell(events)
    expect(receiver.bodies()).toHaveLength(2)
  })

  test('are not reported while a worker is alive or has just ended, nor if nothing is open', async () => {
    await openRun('3 hours', 0)
    await tell(events)
    await openRun('3 hours')
    await worker('1 minute')
    await tell(events)
    await sql`update workers set stopped_at = now() - interval '10 minutes'`.execute(database.db)
    await tell(events)
    await sendNotices(database.db, { webhook: receiver.webhook({ events }), unattendedMs: 0 })
    expect(receiver.got).toEqual([])
  })

  test('start to wait when they are reopened', async () => {
    await openRun('3 hours')
    await sql`update tasks set state = 'failed'`.execute(database.db)
    await reopenTasks(
      database.db,
      {
        run: null,
        list: null,
        states: ['failed'],
        error: null,
        tag: null,
        since: null,
        buyAgain: false,
      },
      (await sql<{ id: number }>`select id from runs`.execute(database.db)).rows.map(
        ({ id }) => id,
      ),
    )
    await tell(events)
    expect(receiver.got).toEqual([])
  })
})

test('the address and the secret of a webhook are not shown among the settings', () => {
  const { sources, webhook } = readConfig({
    MILL_WEBHOOK: 'https://chat.example.com/secret-path',
    MILL_WEBHOOK_SECRET: 'a-secret-for-tests-only-of-40-characters',
  })
  expect(sources.get('MILL_WEBHOOK')).toEqual({ shown: '…', source: 'environment' })
  expect(sources.get('MILL_WEBHOOK_SECRET')).toEqual({ shown: '…', source: 'environment' })
  expect(JSON.stringify(webhook?.secret)).toBe('"…"')
})
