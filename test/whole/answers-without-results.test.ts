// @module-tag slow
// Charged replies that do not answer their query: a rejection that was charged, and an answer that names another query.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import { run } from '../support/run.ts'
import { openScene, queries, type Scene } from '../support/scene.ts'

const young = { maxAgeMs: 3_600_000 }
const paidRefusal = { kind: 'status', charged: true, billed: true, code: 'NOBODY_KNOWS' } as const

async function command({ mill }: Scene, job: string, ...args: string[]) {
  const ended = await run(job, [...args, '--json'], mill.env)
  const said = ended.stdout === '' ? null : (JSON.parse(ended.stdout) as Record<string, unknown>)
  return { ...ended, said }
}

async function ask({ mill }: Scene, question: string): Promise<unknown[]> {
  return (await sql.raw(question).execute(mill.db)).rows
}

/** Rows of each query in the tables, and in the analysts' views. */
async function kept(scene: Scene) {
  return await ask(
    scene,
    `select q.q, s.parse_error, s.result_count, s.depth, s.extra, s.as_given,
      (select count(*)::integer from organic_results o where o.search_id = s.id) as results,
      (select count(*)::integer from search_entities e where e.search_id = s.id) as entities,
      (select count(*)::integer from analysis.results r where r.search_id = s.id) as seen,
      r.body is not null and s.credits_used > 0 and s.credits_remaining > 0 as kept
    from searches s
    join queries q on q.id = s.query_id
    left join raw_answers r on r.call_id = s.call_id
    order by q.q`,
  )
}

const marked = (q: string, reason: string) => ({
  ...{ q, parse_error: reason, result_count: 0, depth: null, extra: null, as_given: null },
  ...{ results: 0, entities: 0, seen: 0, kept: true },
})

describe('a refusal that the API charged for', () => {
  const reason = 'the API refused it, and charged for it: NOBODY_KNOWS: A fault on purpose'

  test('is stored and marked, and bought by no retry and by no other run while it is recent', async () => {
    const scene = await openScene({ api: { faults: [{ ...paidRefusal, status: 200 }] } })
    const { api, mill } = scene
    await mill.plan(queries(3), young)
    const first = await command(scene, 'work', '--drain')
    expect(first).toMatchObject({
      code: 1,
      said: {
        ...{ finish: 'completed', answered: 3, failed: 0, calls: 3, credits_used: 3 },
        ...{ unreadable: 3, paid_refusal: 3, other_query: 0, failures: { PAID_REFUSAL: 3 } },
      },
    })
    expect(first.stderr).toContain('3 unreadable (3 refused by the API and charged)')
    await mill.plan(queries(3), { ...young, list: 'other' })
    expect((await command(scene, 'work', '--drain')).said).toMatchObject({ reused: 3, calls: 0 })
    expect(api.charges()).toHaveLength(3)
    const rows = queries(3).map((q) => marked(q, reason))
    expect(await kept(scene)).toEqual(rows)
    const coverage = 'select list, answered, unreadable from analysis.coverage order by list'
    expect(await ask(scene, coverage)).toEqual([
      { list: 'other', answered: 0, unreadable: 3 },
      { list: 'test', answered: 0, unreadable: 3 },
    ])
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
    const again = { read: 0, unread: 3, marked: 0, refused: 0 }
    expect((await command(scene, 'reparse', '--all')).said).toMatchObject(again)
    expect(await kept(scene)).toEqual(rows)
  })

  test.each([202, 400, 500])(
    'counts as an answer without results with status %i too',
    async (status) => {
      const scene = await openScene({ api: { faults: [{ ...paidRefusal, status }] } })
      const { api, mill } = scene
      await mill.plan(queries(2), young)
      expect(await mill.drain()).toMatchObject({ answered: 2, calls: 2, paid_refusal: 2 })
      await mill.plan(queries(2), { ...young, list: 'other' })
      expect(await mill.drain()).toMatchObject({ reused: 2, calls: 0 })
      expect(api.charges()).toHaveLength(2)
      expect(await kept(scene)).toEqual(queries(2).map((q) => marked(q, reason)))
      expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
    },
  )

  test.each([
    ['says that it cost nothing', { charged: false, billed: true }],
    ['says nothing of its cost', { charged: true, billed: false }],
  ])('is not one when it %s: it is retried', async (_, bill) => {
    const scene = await openScene({
      api: { faults: [{ ...paidRefusal, ...bill, status: 200, times: 1 }] },
    })
    await scene.mill.plan(queries(2), young)
    expect(await scene.mill.drain()).toMatchObject({ answered: 2, unreadable: 0, calls: 4 })
  })

  test('keeps its meaning if it concerns the key, credits or the rate', async () => {
    const stops = { INVALID_API_KEY: 'auth', OUT_OF_CREDITS: 'credit_floor' }
    for (const [code, finish] of Object.entries(stops)) {
      const scene = await openScene({ api: { faults: [{ ...paidRefusal, status: 200, code }] } })
      await scene.mill.plan(['shoes'], young)
      expect(await scene.mill.drain()).toMatchObject({ finish, answered: 0 })
      expect(await kept(scene)).toEqual([])
    }
    const slow = { ...paidRefusal, status: 200, code: 'RATE_LIMITED', times: 1 }
    const scene = await openScene({ api: { faults: [slow] } })
    await scene.mill.plan(['shoes'], young)
    expect(await scene.mill.drain()).toMatchObject({ answered: 1, unreadable: 0, calls: 2 })
  })
})

describe('an answer that names another query', () => {
  const reason = 'it answers another query: "how to wash headlamp"'
  const echo = { kind: 'echo', query: 'how to wash headlamp' } as const

  test('is stored and marked, has no results, and is bought again only if named', async () => {
    const scene = await openScene({ api: { faults: [{ ...echo, match: 'shoes' }] } })
    const { api, mill } = scene
    const planned = await mill.plan(['trail running shoes', 'socks'], young)
    const first = await command(scene, 'work', '--drain')
    expect(first).toMatchObject({
      code: 1,
      said: {
        ...{ finish: 'completed', answered: 2, calls: 2, credits_used: 2 },
        ...{ unreadable: 1, paid_refusal: 0, other_query: 1, failures: { OTHER_QUERY: 1 } },
      },
    })
    expect(first.stderr).toContain('1 unreadable (1 for another query)')
    const rows = await kept(scene)
    expect(rows[1]).toEqual(marked('trail running shoes', reason))
    expect(rows[0]).toMatchObject({ q: 'socks', parse_error: null, results: 10, seen: 10 })
    const status = await command(scene, 'status')
    expect(status.said).toMatchObject({
      runs: [{ unreadable: 1, paid_refusal: 0, other_query: 1, tasks: { answered: 2 } }],
    })
    await mill.plan(['trail running shoes', 'socks'], { ...young, list: 'other' })
    expect((await command(scene, 'work', '--drain')).said).toMatchObject({ reused: 2, calls: 0 })
    expect(api.charges()).toHaveLength(2)
    api.set({ faults: [] })
    const again = ['--run', String(planned), '--error', 'OTHER_QUERY', '--buy-again', '--yes']
    expect((await command(scene, 'retry', ...again)).said).toEqual({ tasks: 1, reopened: 1 })
    expect((await command(scene, 'work', '--drain')).said).toMatchObject({
      ...{ answered: 1, unreadable: 0, calls: 1 },
    })
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
  })

  test('is shown by status with the command that buys it again', async () => {
    const scene = await openScene({ api: { faults: [echo] } })
    await scene.mill.plan(['shoes', 'socks'])
    await scene.mill.drain()
    const { stdout } = await run('status', [], scene.mill.env)
    expect(stdout).toContain(
      'run 1: of 2 unreadable answers, 2 for another query; to buy them again: npm run retry -- --run 1 --error OTHER_QUERY --buy-again --yes',
    )
  })

  test('makes its run suspect if most answers are like it, with this reason', async () => {
    const scene = await openScene({ api: { faults: [echo] } })
    await scene.mill.plan(queries(6))
    const { stderr } = await command(scene, 'work', '--drain')
    const why = '100 % of the answers cannot be read (6 for another query)'
    expect(stderr).toContain(`run 1 is suspect and was left out of trends: ${why}`)
    expect(await ask(scene, 'select suspect from runs')).toEqual([{ suspect: true }])
    expect(
      await ask(scene, 'select unreadable::integer, reasons from analysis.night_health'),
    ).toEqual([{ unreadable: 6, reasons: [why] }])
  })

  test('loses the rows that an older version gave it when reparse reads all, and verify names it until then', async () => {
    const scene = await openScene()
    const { mill } = scene
    await mill.plan(['shoes', 'socks'])
    await mill.drain()
    // As if the body of one had named another query, and had been accepted.
    const other = `replace(convert_from(body, 'UTF8'), '"query":"shoes"', '"query":"how to wash headlamp"')`
    await ask(
      scene,
      `update raw_answers set body = convert_to(${other}, 'UTF8') where call_id in
        (select s.call_id from searches s join queries q on q.id = s.query_id where q.q = 'shoes')`,
    )
    await ask(
      scene,
      `update searches set as_given = '{"query": "how to wash headlamp"}'
       where query_id in (select id from queries where q = 'shoes')`,
    )
    expect((await command(scene, 'verify', '--deep')).code).toBe(1)
    const { code, said, stderr } = await command(scene, 'reparse', '--all')
    expect({ code, said }).toMatchObject({ code: 1, said: { read: 1, unread: 0, marked: 1 } })
    expect(stderr).toContain('1 answer marked')
    expect((await kept(scene))[0]).toEqual(marked('shoes', reason))
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
  })
})

describe('an answer counts as one to its query', () => {
  test.each([
    ['NYC Hotels', 'nyc hotels'],
    ['nyc  hotels', ' nyc\u00a0hotels '],
    ['caf\u00e9', 'cafe\u0301'],
    ['\u039f\u0394\u039f\u03a3', '\u03bf\u03b4\u03bf\u03c2'],
    ['stra\u00dfe', 'STRASSE'],
    ['soft\u00adware', 'software'],
    ['shoes', ''],
  ])('when %j is echoed as %j', async (q, query) => {
    const scene = await openScene({ api: { faults: [{ kind: 'echo', query }] } })
    await scene.mill.plan([q.normalize('NFC').replaceAll('\u00ad', '').replaceAll('  ', ' ')])
    expect(await scene.mill.drain()).toMatchObject({ answered: 1, unreadable: 0 })
  })

  test('for a test key, whose mock data may name any query', async () => {
    const scene = await openScene({ api: { kind: 'test', faults: [{ kind: 'echo' }] } })
    await scene.mill.plan(['shoes'])
    expect(await scene.mill.drain()).toMatchObject({ answered: 1, unreadable: 0 })
    expect(await command(scene, 'verify', '--deep')).toMatchObject({ code: 0 })
    expect((await command(scene, 'reparse', '--all')).said).toMatchObject({ read: 1, marked: 0 })
  })
})
