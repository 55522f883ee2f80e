// Reopened tasks are bought again; tasks that were answered in another way are never paid for twice.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { rebuild } from '../../../src/core/runs/rebuild.ts'
import { chooseRuns, reopenTasks, type Selection } from '../../../src/core/runs/retry.ts'
import { verifyPromises } from '../../support/promises.ts'
import { run as runCommand } from '../../support/run.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'

const hour = 3_600_000

function selection(run: number, more: Partial<Selection> = {}): Selection {
  return {
    run,
    list: null,
    states: ['failed', 'unknown'],
    error: null,
    tag: null,
    since: null,
    buyAgain: false,
    ...more,
  }
}

const everything = { states: ['answered', 'reused'], buyAgain: true }

async function reopen({ mill }: Scene, selected: Selection): Promise<number> {
  const { runs } = await chooseRuns(mill.db, selected)
  const reopened = await reopenTasks(mill.db, selected, runs)
  for (const run of runs) await rebuild(mill, run)
  return reopened
}

describe('tasks to be bought again', () => {
  test('are bought, however recent their previous answer is', { tags: ['slow'] }, async () => {
    const scene = await openScene()
    const { api, mill } = scene
    const run = await mill.plan(queries(3), { maxAgeMs: hour })
    await mill.drain()
    expect(await reopen(scene, selection(run, everything))).toBe(3)
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 3, reused: 0 })
    expect(api.charges()).toHaveLength(6)
    expect(await mill.states()).toEqual({ answered: 3 })
    const { rows } = await sql<{ newest: boolean }>`
      select search_id = (select max(id) from searches where query_id = tasks.query_id) as newest
      from tasks`.execute(mill.db)
    expect(rows.map(({ newest }) => newest)).toEqual([true, true, true])
    const checks = await verifyPromises(mill.db)
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
  })

  test('are bought once for two runs that shared an answer', { tags: ['slow'] }, async () => {
    const scene = await openScene()
    const { api, mill } = scene
    const first = await mill.plan(['shoes'], { maxAgeMs: hour, list: 'first' })
    await mill.drain()
    const second = await mill.plan(['shoes'], { maxAgeMs: hour, list: 'second' })
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 1, reused: 1 })
    for (const run of [first, second]) await reopen(scene, selection(run, everything))
    await mill.drain()
    expect(api.charges()).toHaveLength(2)
    expect(await mill.states()).toEqual({ answered: 1, reused: 1 })
  })

  test('include those that a night skipped, if named', async () => {
    const scene = await openScene()
    const { api, mill } = scene
    await mill.plan(['shoes'], { list: 'rests' })
    await mill.drain()
    const run = await mill.plan(['shoes'], { list: 'rests' })
    await sql`
      update tasks
      set state = 'not_asked', search_id = (select max(id) from searches), finished_at = now()
      where run_id = ${run}`.execute(mill.db)
    await sql`update slices set done_at = now()`.execute(mill.db)
    await sql`update runs set state = 'done', finished_at = now()`.execute(mill.db)
    const kept = async () => {
      const checks = await verifyPromises(mill.db)
      return checks.filter(({ ok }) => !ok)
    }
    expect(await kept()).toEqual([])
    expect(await reopen(scene, selection(run))).toBe(0)
    expect(await reopen(scene, selection(run, { states: ['not_asked'] }))).toBe(1)
    await mill.drain()
    expect(api.charges()).toHaveLength(2)
    expect(await mill.states()).toEqual({ answered: 2 })
    expect(await kept()).toEqual([])
  })

  test('exclude those with an answer, unless the user includes them', async () => {
    const scene = await openScene()
    const run = await scene.mill.plan(queries(2))
    await scene.mill.drain()
    const answered = selection(run, { states: ['answered', 'reused'] })
    expect((await chooseRuns(scene.mill.db, answered)).tasks).toBe(0)
    expect(await reopen(scene, answered)).toBe(0)
    expect(await scene.mill.states()).toEqual({ answered: 2 })
  })
})

describe('a task whose answer the database rejected', () => {
  test('is reopened only if the user wants to buy it again', async () => {
    const scene = await openScene()
    const { mill } = scene
    const run = await mill.plan(queries(2))
    await sql`
      create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'refused' using errcode = '22023'; end $$`.execute(mill.db)
    await sql`create trigger refuse before insert on searches for each row execute function refuse()`.execute(
      mill.db,
    )
    expect(await mill.drain()).toMatchObject({ finish: 'completed', failed: 2 })
    expect(await reopen(scene, selection(run))).toBe(0)
    expect(await mill.states()).toEqual({ failed: 2 })
    expect(await reopen(scene, selection(run, { buyAgain: true }))).toBe(2)
  })
})

describe('failed tasks of several runs of one list', () => {
  async function failedTwice(): Promise<Scene & { older: number; newer: number }> {
    const scene = await openScene()
    const { mill } = scene
    const [older, newer] = [await mill.plan(queries(2)), await mill.plan(queries(3))]
    await sql`
      update tasks set state = 'failed', finished_at = now(), error_code = 'TIMEOUT'`.execute(
      mill.db,
    )
    await sql`update slices set done_at = now()`.execute(mill.db)
    await sql`update runs set kind = 'manual', state = 'done', finished_at = now()`.execute(mill.db)
    return { ...scene, older, newer }
  }

  test('are reopened in the newest of them, and the command names those that stay closed', async () => {
    const { mill, older, newer } = await failedTwice()
    const { code, stdout, stderr } = await runCommand('retry', ['--yes', '--json'], mill.env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ tasks: 3, reopened: 3 })
    expect(stderr).toContain(`run ${older} stays closed`)
    expect(stderr).toContain(`which is now run ${newer}`)
    expect(await mill.states()).toEqual({ failed: 2, open: 3 })
    await mill.drain()
    expect(await reopen({ mill } as Scene, selection(older))).toBe(2)
  })

  test('stay unchanged while another run of the list is open', async () => {
    const { mill, older, newer } = await failedTwice()
    await sql`update runs set state = 'open', finished_at = null where id = ${newer}`.execute(
      mill.db,
    )
    const { code, stderr } = await runCommand('retry', ['--run', String(older), '--yes'], mill.env)
    expect(code).toBe(0)
    expect(stderr).toContain(`run ${older} stays closed`)
    expect(await mill.states()).toEqual({ failed: 5 })
  })
})

describe('a mistyped argument', () => {
  test.each([
    ['retry', ['--run', '999'], 'the number of an existing run, got 999'],
    ['retry', ['--list', 'nosuch'], '"nosuch"; existing lists: test'],
    ['status', ['--run', '999'], 'the number of an existing run, got 999'],
    ['reparse', ['--run', '999'], 'the number of an existing run, got 999'],
    ['cancel', ['--run', '999'], 'expected run 999 to be open'],
    ['retry', ['--run', 'last'], 'to be a run number, got "last"; npm run status lists the runs'],
    ['status', ['--run', '0'], 'to be a run number, got "0"'],
    ['reparse', ['--run', '1.5'], 'to be a run number, got "1.5"'],
    ['cancel', ['--run', ''], 'to be a run number, got ""'],
    ['cancel', [], 'expected --run with a run number or --list with a list name, got nothing'],
    ['cancel', ['--run', '1', '--list', 'test'], 'got both'],
    ['cancel', ['--list', 'nosuch'], '"nosuch"; existing lists: test'],
    ['retry', ['--tag', 'nosuch'], '"nosuch"; existing tags: none'],
    ['retry', ['--since', 'monday'], 'a date like 2026-10-03 or a duration like 12h, got monday'],
    [
      'retry',
      ['--since', '2026-02-30'],
      'a date like 2026-10-03 or a duration like 12h, got 2026-02-30',
    ],
    [
      'retry',
      ['--budget', 'much'],
      'expected --budget to be a whole number of at least 1, got much',
    ],
  ])('%s %s exits with 2 and lists the valid values', async (job, flags, said) => {
    const { mill } = await openScene()
    await mill.plan(['shoes'])
    const ended = await runCommand(job, flags, mill.env)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(said)
  })
})

describe('tasks beyond the budget of their run', () => {
  const flags = ['--state', 'unaffordable']

  test('are not reopened to become unaffordable at once: the command names the required budget', async () => {
    const { mill } = await openScene({ api: { cost: 2 } })
    const run = await mill.plan(queries(10), { budget: 6 })
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 3 })
    const told = `expected a budget of at least 8 credits for run ${run}, got 6, of which 6 are used`
    for (const more of [[], ['--yes']]) {
      const refused = await runCommand('retry', [...flags, ...more], mill.env)
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(told) })
    }
    const less = await runCommand('retry', [...flags, '--budget', '7', '--yes'], mill.env)
    expect(less).toMatchObject({ code: 2, stderr: expect.stringContaining('at least 8 credits') })
    expect(await mill.states()).toEqual({ answered: 3, unaffordable: 7 })
    const { rows } = await sql<{ budget: number; state: string }>`
      select budget, state from runs`.execute(mill.db)
    expect(rows).toEqual([{ budget: 6, state: 'done' }])
  })

  test('are bought within a greater budget', { tags: ['slow'] }, async () => {
    const { mill } = await openScene({ api: { cost: 2 } })
    await mill.plan(queries(10), { budget: 6 })
    await mill.drain()
    const { code } = await runCommand('retry', [...flags, '--budget', '12', '--yes'], mill.env)
    expect(code).toBe(0)
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 3 })
    await runCommand('retry', [...flags, '--budget', '20', '--yes'], mill.env)
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 4 })
    expect((await verifyPromises(mill.db)).filter(({ ok }) => !ok)).toEqual([])
  })
})

describe('a retry of some tasks', () => {
  test('by label or time reopens only these', { tags: ['slow'] }, async () => {
    const { mill } = await openScene()
    await mill.plan(queries(4))
    await sql`
      update tasks
      set state = 'failed', finished_at = now() - (id - (select min(id) from tasks)) * interval '2 hours'`.execute(
      mill.db,
    )
    await sql`update slices set done_at = now()`.execute(mill.db)
    await sql`update runs set state = 'done', finished_at = now()`.execute(mill.db)
    await sql`
      insert into list_queries (list_id, query_id, tags)
      select r.list_id, t.query_id, case when q.q < 'query 3' then array['brand', 'red'] else array['red'] end
      from tasks t
      join runs r on r.id = t.run_id
      join queries q on q.id = t.query_id`.execute(mill.db)
    const meant = async (...flags: string[]) => {
      const { stdout } = await runCommand('retry', [...flags, '--json'], mill.env)
      return JSON.parse(stdout).tasks
    }
    expect(await meant('--tag', 'red')).toBe(4)
    expect(await meant('--tag', 'brand')).toBe(2)
    expect(await meant('--since', '3h')).toBe(2)
    expect(await meant('--since', '2020-01-01')).toBe(4)
    expect(await meant('--since', '1h', '--tag', 'brand')).toBe(1)
    await runCommand('retry', ['--tag', 'brand', '--yes'], mill.env)
    expect(await mill.states()).toEqual({ failed: 2, open: 2 })
  })
})

describe('a list that is cancelled', () => {
  test('has its open runs cancelled, and the runs of other lists continue', async () => {
    const { mill } = await openScene()
    const [first, second] = [await mill.plan(queries(2)), await mill.plan(queries(3))]
    await mill.plan(queries(4), { list: 'other' })
    const preview = await runCommand('cancel', ['--list', 'test'], mill.env)
    expect(preview.stderr).toContain(
      `run ${first} would be cancelled with 2 open tasks: nothing was changed; to go ahead, add --yes`,
    )
    expect(await mill.states()).toEqual({ open: 9 })
    const flags = ['--list', 'test', '--yes', '--json']
    const { code, stdout } = await runCommand('cancel', flags, mill.env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      list: 'test',
      runs: [
        { run: first, cancelled: 2 },
        { run: second, cancelled: 3 },
      ],
      dry_run: false,
    })
    expect(await mill.states()).toEqual({ cancelled: 5, open: 4 })
    const again = await runCommand('cancel', ['--list', 'test'], mill.env)
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('an open run, got none'),
    })
  })
})

test(
  'credits reserved for unreadable calls are shown separately from spent ones',
  { tags: ['slow'] },
  async () => {
    const { mill } = await openScene({
      api: { cost: 2, faults: [{ kind: 'drop', match: 'query 2' }] },
    })
    const run = await mill.plan(queries(3))
    await mill.drain()
    const { stdout } = await runCommand('status', ['--json', '--run', String(run)], mill.env)
    const [shown] = JSON.parse(stdout).runs
    expect(shown.tasks).toMatchObject({ answered: 2, unknown: 1 })
    expect(shown.reserved).toBe(0)
    expect(shown.spent).toBe(4)
    expect(shown.uncertain).toBeGreaterThanOrEqual(2)
  },
)
