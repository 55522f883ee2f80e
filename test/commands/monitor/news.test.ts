import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/shared/config.ts'
import { postNews, startNews } from '../../../src/commands/monitor/news.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'

interface Receiver {
  readonly url: URL
  readonly bodies: { text: string; event: string; [field: string]: unknown }[]
  /** Statuses to answer with, before 200. */
  statuses: number[]
  close(): Promise<unknown>
}

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

async function openReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => (text += String(chunk)))
    request.on('end', () => {
      const status = opened.statuses.shift() ?? 200
      if (status === 200) opened.bodies.push(JSON.parse(text))
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const opened: Receiver = {
    url: new URL(`http://127.0.0.1:${port}/services/secret-path`),
    bodies: [],
    statuses: [],
    close: () => new Promise((resolve) => server.close(resolve)),
  }
  return opened
}

function tell(): Promise<number> {
  return postNews(database.db, { ...options(receiver.url), pauses: [1, 1] })
}

function options(url: URL) {
  return { url, tell: (line: string) => said.push(line) }
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

describe('news', () => {
  test('a finished run, a stop and missed nights are posted as one line each', async () => {
    await happen()
    expect(await tell()).toBe(3)
    const texts = receiver.bodies.map(({ text }) => text)
    expect(texts).toContainEqual(
      expect.stringMatching(
        /run \d+ of words for 2026-10-03 is finished: no tasks; 42 credits used/,
      ),
    )
    expect(texts).toContainEqual(
      'querymill: account api.example.com stands still (credit_floor): 103 credits left, 100 must stay',
    )
    expect(texts).toContainEqual(expect.stringMatching(/words, due 3 times up to .* was missed/))
    for (const text of texts) expect(text).not.toContain('\n')
    const run = receiver.bodies.find(({ event }) => event === 'run_finished')
    expect(run).toMatchObject({ list: 'words', run_date: '2026-10-03', state: 'done', spent: 42 })
  })

  test('several processes at the same time post each notice once', async () => {
    await happen()
    await Promise.all([tell(), tell(), tell(), tell()])
    await tell()
    expect(receiver.bodies).toHaveLength(3)
  })

  test('a receiver that answers 500 or 503 is asked again until it takes the notice', async () => {
    await happen()
    receiver.statuses = [500, 503]
    expect(await tell()).toBe(3)
    expect(said).toEqual([])
  })

  test('what could not be posted is posted later, and the address of the receiver is in no message', async () => {
    await happen()
    receiver.statuses = Array.from({ length: 9 }, () => 500)
    expect(await tell()).toBe(0)
    expect(said).toEqual(Array.from({ length: 3 }, () => said[0]))
    expect(said[0]).toContain('got status 500')
    expect(said.join()).not.toContain('secret-path')
    expect(await tell()).toBe(3)
  })

  test('a receiver that answers 404 is asked once for each notice', async () => {
    await happen()
    receiver.statuses = [404, 404, 404]
    expect(await tell()).toBe(0)
    expect(receiver.statuses).toEqual([])
  })

  test('a receiver that never answers does not keep a command from ending', async () => {
    await happen()
    const asked: unknown[] = []
    const silent = createServer((request) => void asked.push(request.url))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = new URL(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    const news = startNews(database.db, { ...options(url), everyMs: 50 })
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    await news.close()
    expect(said).toEqual([])
    silent.closeAllConnections()
    silent.close()
  })

  test('what happened a day ago is not posted any more', async () => {
    await happen()
    await sql`update runs set finished_at = now() - interval '1 day'`.execute(database.db)
    await sql`update stops set since = now() - interval '1 day'`.execute(database.db)
    await sql`update nights set decided_at = now() - interval '1 day'`.execute(database.db)
    expect(await tell()).toBe(0)
  })

  test('a night that nobody decided is posted as overdue, once', async () => {
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values (
        'words', 'words', '0 * * * *', 'UTC', 'latest', 'skip', true,
        now() - interval '3 hours', now() - interval '3 hours'
      )`.execute(database.db)
    expect(await tell()).toBe(1)
    expect(await tell()).toBe(0)
    expect(receiver.bodies).toMatchObject([{ event: 'night_overdue', schedule: 'words' }])
  })
})

test('the address of a webhook is not shown among the settings', () => {
  const { sources } = readConfig({ MILL_WEBHOOK: 'https://chat.example.com/secret-path' })
  expect(sources.get('MILL_WEBHOOK')).toEqual({ shown: '…', source: 'environment' })
})
