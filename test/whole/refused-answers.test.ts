// @module-tag slow
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import { allow, refuse } from '../support/refusal.ts'
import { run as runCommand } from '../support/run.ts'
import { openScene, queries, type Scene } from '../support/scene.ts'

const spoilt = `exists (select from queries where id = new.query_id and q in ('query 2', 'query 3'))`

/** Five paid answers, two of them without rows, because the tables refused them. */
async function openRefused(): Promise<Scene & { run: number }> {
  const scene = await openScene({ api: { cost: 3 } })
  const run = await scene.mill.plan(queries(5))
  await refuse(scene.mill, 'searches', { code: '22023', when: spoilt })
  expect(await scene.mill.drain()).toMatchObject({ answered: 3, failed: 2, credits_used: 15 })
  return { ...scene, run }
}

async function broken({ mill }: Scene): Promise<string[]> {
  const checks = await verifyPromises(mill.db)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

async function command({ mill }: Scene, job: string, ...args: string[]) {
  const ended = await runCommand(job, [...args, '--json'], mill.env)
  const said = ended.stdout === '' ? null : (JSON.parse(ended.stdout) as Record<string, unknown>)
  return { ...ended, said }
}

describe('an answer of which the database rejects only the results', () => {
  test('counts as unreadable: no list buys it again, and reparse adds its rows', async () => {
    const scene = await openScene({ api: { cost: 3 } })
    const { api, mill } = scene
    await mill.plan(queries(5))
    const second = `exists (
      select from searches s join queries q on q.id = s.query_id
      where s.id = new.search_id and q.q in ('query 2', 'query 3')
    )`
    await refuse(mill, 'organic_results', { code: '22023', when: second })
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 5, failed: 0 })
    const unread = async () => {
      const { rows } = await sql<{ parse_error: string }>`
        select parse_error from searches where parse_error is not null`.execute(mill.db)
      return rows.map((row) => row.parse_error)
    }
    expect(await unread()).toEqual(Array(2).fill('the tables refused its rows: refused'))
    expect(await broken(scene)).toEqual([])
    await mill.plan(queries(5), { list: 'again', maxAgeMs: 3_600_000 })
    expect(await mill.drain()).toMatchObject({ reused: 5, calls: 0 })
    expect(await command(scene, 'reparse')).toMatchObject({ code: 1, said: { refused: 2 } })
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
    await allow(mill, 'organic_results')
    expect(await command(scene, 'reparse')).toMatchObject({ code: 0, said: { read: 2 } })
    expect(await unread()).toEqual([])
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
    expect(api.charges()).toHaveLength(5)
  })
})

describe('an answer whose rows the database rejected', () => {
  test('is stored once by reparse as soon as it is accepted, costs nothing more, and all checks pass', async () => {
    const scene = await openRefused()
    const { api, mill } = scene
    expect(await broken(scene)).toEqual([])
    await allow(mill, 'searches')
    const nothing = { unread: 0, marked: 0, refused: 0, bodiless: 0 }
    expect(await command(scene, 'reparse')).toMatchObject({
      code: 0,
      said: { read: 2, ...nothing },
    })
    expect(await mill.states()).toEqual({ answered: 5 })
    expect(await broken(scene)).toEqual([])
    expect(await command(scene, 'reparse')).toMatchObject({
      code: 0,
      said: { read: 0, ...nothing },
    })
    expect(await command(scene, 'reparse', '--all')).toMatchObject({
      said: { read: 5, ...nothing },
    })
    const { rows } = await sql`
      select q.q, s.api, s.origin, t.error_code, c.error_code as code_of_call, s.result_count > 0 as has_results
      from tasks t
      join searches s on s.id = t.search_id
      join calls c on c.id = s.call_id
      join queries q on q.id = t.query_id
      order by q.q`.execute(mill.db)
    const { api: address } = mill.supplier
    expect(rows).toEqual(
      queries(5).map((q) => ({
        q,
        api: address,
        origin: 'live',
        error_code: null,
        code_of_call: ['query 2', 'query 3'].includes(q) ? 'UNSTORABLE' : null,
        has_results: true,
      })),
    )
    expect(api.charges()).toHaveLength(5)
    // A second pass over the same list finds all five.
    await mill.plan(queries(5), { maxAgeMs: 3_600_000 })
    expect(await mill.drain()).toMatchObject({ reused: 5, calls: 0 })
  })

  test('stays unchanged while it is still rejected, with the reason, and does not delay others', async () => {
    const scene = await openRefused()
    const { mill } = scene
    await allow(mill, 'searches')
    await refuse(mill, 'searches', {
      code: '22023',
      when: spoilt.replace(", 'query 3'", ''),
    })
    const { code, said, stderr } = await command(scene, 'reparse')
    expect(code).toBe(1)
    expect(said).toEqual({ read: 1, unread: 0, marked: 0, refused: 1, bodiless: 0 })
    expect(stderr).toContain('1 answer cannot be stored yet')
    expect(stderr).toMatch(/ {2}\d: refused/)
    expect(stderr).not.toContain('    at ')
    expect(await mill.states()).toEqual({ answered: 4, failed: 1 })
    expect(await broken(scene)).toEqual([])
  })

  test('shows the price of its class, even if no other answer did', async () => {
    const scene = await openScene({ api: { cost: 3 } })
    await scene.mill.plan(queries(2))
    await refuse(scene.mill, 'searches', { code: '22023' })
    expect(await scene.mill.drain()).toMatchObject({ failed: 2, credits_used: 6 })
    expect(await broken(scene)).toEqual([])
  })

  test('is skipped by retry, which names the command that stores it', async () => {
    const scene = await openRefused()
    const { api, mill, run } = scene
    const { code, said, stderr } = await command(scene, 'retry', '--run', String(run), '--yes')
    expect({ code, said }).toEqual({ code: 0, said: { tasks: 0, reopened: 0 } })
    expect(stderr).toContain(
      '2 tasks left out, because the answer is paid for but the database rejected its rows; npm run reparse',
    )
    await mill.drain()
    expect(api.charges()).toHaveLength(5)
  })

  test('is bought again only on request, and stored beside the new one by reparse', async () => {
    const scene = await openRefused()
    const { api, mill, run } = scene
    await allow(mill, 'searches')
    const again = ['--run', String(run), '--state', 'failed', '--buy-again', '--yes']
    expect((await command(scene, 'retry', ...again)).said).toEqual({ tasks: 5, reopened: 5 })
    await mill.drain()
    expect(api.charges()).toHaveLength(10)
    expect((await command(scene, 'reparse')).said).toMatchObject({ read: 2, refused: 0 })
    expect(await broken(scene)).toEqual([])
    const { rows } = await sql`
      select count(*) as answers, count(*) filter (where t.search_id = newest.id) as newest
      from tasks t
      join (select query_id, max(id) as id from searches group by query_id) newest using (query_id)`.execute(
      mill.db,
    )
    expect(rows).toEqual([{ answers: 5, newest: 5 }])
  })

  test('takes nothing from a run that bought its query again before it was stored', async () => {
    const scene = await openRefused()
    const { api, mill } = scene
    await allow(mill, 'searches')
    await mill.plan(queries(5), { maxAgeMs: 3_600_000 })
    // By then, the answers are more than a second older than the next call.
    await sql`select pg_sleep_until(max(finished_at) + interval '1.1 seconds') from calls`.execute(
      mill.db,
    )
    expect(await mill.drain()).toMatchObject({ reused: 3, calls: 2 })
    expect((await command(scene, 'reparse')).said).toMatchObject({ read: 2, refused: 0 })
    expect(await broken(scene)).toEqual([])
    expect(api.charges()).toHaveLength(7)
  })

  test('is attributed to the API that its worker bought from, whatever is configured now, or skipped if that is unknown', async () => {
    const scene = await openRefused()
    const { mill } = scene
    await allow(mill, 'searches')
    const elsewhere = { ...mill.env, SEARCH_API_URL: 'http://127.0.0.1:9/other' }
    await sql`update calls set worker = worker + 1 where error_code = 'UNSTORABLE' and query_id in (select id from queries where q = 'query 2')`.execute(
      mill.db,
    )
    const { code, stdout, stderr } = await runCommand('reparse', ['--json'], elsewhere)
    expect({ code, said: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      said: { read: 1, unread: 0, marked: 0, refused: 1, bodiless: 0 },
    })
    expect(stderr).toContain('the API that sent this answer is unknown')
    const { rows } = await sql`select distinct api from searches`.execute(mill.db)
    expect(rows).toEqual([{ api: mill.supplier.api }])
  })
})
