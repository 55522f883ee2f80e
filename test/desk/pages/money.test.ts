import { describe, expect, test } from 'vitest'
import { readEvents, readStatement } from '../../../src/core/ledger/statement.ts'
import { deskScene } from '../scene.ts'

const query = '00000000-0000-4000-8000-000000000001'

const scene = deskScene(async ({ pool }) => {
  await pool.query(`
    insert into lists (id, name, source) overriding system value values (1, 'shoes', 'a.csv');
    insert into queries (id, key, q, num) values ('${query}', 'q-1', 'red shoes', 10);
    insert into runs (id, list_id, run_date, kind, state, max_age_ms) overriding system value
    values (1, 1, '2026-01-01', 'nightly', 'done', 0);
    insert into tasks (id, run_id, query_id, slice, priority, state) overriding system value
    values (1, 1, '${query}', 0, 5, 'failed');
    insert into accounts (id, name, kind, obs_remaining, obs_at) overriding system value
    values (1, 'acme', 'live', 1090, '2026-01-03 10:00Z');
    insert into calls (
      id, task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total, credits_remaining,
      credits_reserved, credits_used, outcome, probe, class
    ) overriding system value
    values
      (1, 1, '${query}', 1, 1, '2026-01-01 10:00Z', '2026-01-01 10:01Z', 1, 0, 1000, 5, 5, 'settled', false, '10/-'),
      (2, 1, '${query}', 1, 1, '2026-01-02 10:00Z', '2026-01-02 10:01Z', 2, 5, 995, 5, 5, 'settled', false, '10/-'),
      (3, 1, '${query}', 1, 1, '2026-01-03 10:00Z', '2026-01-03 10:01Z', 3, 10, 1090, 5, 5, 'settled', false, '10/mobile')`)
})

describe('money', () => {
  test('the cost of each list and each class of calls adds up to the tables', async () => {
    const { text } = await scene.desk.get('/money?since=2026-01-01&until=2026-01-31')
    expect(text).toMatch(/data-figure="acme.used" data-value="15"/)
    const cells = (name: string) =>
      new RegExp(
        `<tr[^>]*>\\s*<td[^>]*>\\s*<span class="given" dir="auto">${name}</span>[\\s\\S]*?</tr>`,
      ).exec(text)?.[0] ?? ''
    const numbers = (name: string) =>
      [...cells(name).matchAll(/<td class="n"[^>]*>\s*([\d,.]+)/g)].map(([, number]) => number)
    expect(numbers('shoes').slice(0, 2)).toEqual(['3', '15'])
    expect(numbers('10/mobile').slice(0, 2)).toEqual(['1', '5'])
  })

  test('an increase of the balance is shown as a top-up, in the chart and in words', async () => {
    const { text } = await scene.desk.get('/money?since=2026-01-01&until=2026-01-31')
    expect(text).toContain('<title>top-up: 100 credits</title')
    expect(text).toMatch(/top-up \+ 100, balance\s+1,/)
  })

  test('days without finished calls show nothing of other days', async () => {
    const { text } = await scene.desk.get('/money?since=2025-01-01&until=2025-01-31')
    expect(text).toMatch(/data-figure="acme.used" data-value="0"/)
    expect(text).toContain('No calls ended in this period.')
  })

  test('the statement explains each change, by day, list and run', async () => {
    const address = '/money/statement?since=2026-01-01&until=2026-01-31'
    for (const by of ['day', 'list', 'run']) {
      const { status, text } = await scene.desk.get(`${address}&by=${by}`)
      expect(status).toBe(200)
      expect(text).toContain('acme')
    }
    expect((await scene.desk.get(`${address}&by=moon`)).status).toBe(400)
    expect((await scene.desk.get(`${address}&account=nobody`)).text).toContain(
      'No balance was reported',
    )
  })
})

describe('the statement', () => {
  const order = { account: null, since: null, until: null, zone: 'UTC' }

  test.each(['day', 'list', 'run'] as const)(
    'by %s reads the account once, for its sums and for unexplained changes',
    async (by) => {
      const asked: string[] = []
      const listening = scene.db.withPlugin({
        transformQuery: ({ node }) => {
          asked.push(JSON.stringify(node))
          return node
        },
        transformResult: async ({ result }) => result,
      })
      const { sums, events } = await readStatement(listening, order, by)
      expect(asked.join().match(/from analysis\.statement/g)).toHaveLength(1)
      // The same data as on the Money page, which reads only events.
      expect(events).toEqual(await readEvents(scene.db, order))
      expect(events.map(({ kind, credits }) => [kind, credits])).toEqual([['top_up', 100]])
      expect(sums.reduce((sum, row) => sum + row.ours, 0)).toBe(-15)
      expect(sums.reduce((sum, row) => sum + row.top_up, 0)).toBe(100)
    },
  )
})
