// @module-tag slow
import { type ClientRequest, request } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { patienceMs } from '../support/patience.ts'
import { deskScene } from './scene.ts'

const scene = deskScene()

interface Listener {
  readonly heard: () => string
  readonly leave: () => void
}

/** Listens like an open page. */
function listen(): Promise<Listener> {
  return new Promise((resolve, reject) => {
    let text = ''
    const sent: ClientRequest = request(
      { host: '127.0.0.1', port: scene.desk.port, path: '/live?page=/operations' },
      (response) => {
        response.setEncoding('utf8')
        response.on('data', (piece: string) => (text += piece))
        // A client that leaves in the middle gets an error.
        response.on('error', () => undefined)
        resolve({ heard: () => text, leave: () => void sent.destroy() })
      },
    )
    sent.on('error', reject)
    sent.end()
  })
}

/** Seconds since the desk last queried the database. */
async function quietFor(): Promise<number> {
  const { rows } = await scene.pool.query<{ seconds: number }>(`
    select extract(epoch from clock_timestamp() - max(query_start))::float8 as seconds
    from pg_stat_activity
    where datname = current_database() and application_name = 'querymill desk'`)
  return rows[0]?.seconds ?? Infinity
}

describe('live pages', () => {
  test('share one read between fifty open ones, which ends when all have left', async () => {
    const asked = async () => {
      const { rows } = await scene.pool.query<{ done: number }>(
        'select xact_commit + xact_rollback as done from pg_stat_database where datname = current_database()',
      )
      return rows[0]?.done ?? 0
    }
    const before = await asked()
    const listeners = await Promise.all(Array.from({ length: 50 }, listen))
    for (const { heard } of listeners) {
      await vi.waitFor(() => expect(heard()).toMatch(/^data: \{"parts":\{"state":/m), {
        timeout: patienceMs,
      })
    }
    // Each read takes a few transactions; fifty separate ones would take hundreds.
    expect((await asked()) - before).toBeLessThan(100)
    for (const { leave } of listeners) leave()
    await vi.waitFor(async () => expect(await quietFor()).toBeGreaterThan(6), {
      timeout: patienceMs,
      interval: 500,
    })
  })

  test('send a change to all listeners', async () => {
    const { heard, leave } = await listen()
    await vi.waitFor(() => expect(heard()).toContain('Nothing here yet'), { timeout: patienceMs })
    await scene.pool.query(`
      insert into lists (id, name, source) overriding system value values (1, 'shoes', 'a.csv');
      insert into runs (list_id, run_date, kind, state) values (1, '2026-01-01', 'manual', 'open')`)
    await vi.waitFor(() => expect(heard()).toContain('2026-01-01'), { timeout: patienceMs })
    leave()
  })

  test('a page that is not live has no events', async () => {
    for (const page of ['/nights', '/nowhere', '']) {
      expect((await scene.desk.get(`/live?page=${page}`)).status, page).toBe(404)
    }
  })
})
