// What a person opens again is bought again; what was answered otherwise is never paid for twice.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { rebuild } from '../src/rebuild.ts'
import { countSelected, reopenTasks, type Selection } from '../src/store/change.ts'
import { verifyPromises } from '../src/store/verify.ts'
import { run as runCommand } from './support/run.ts'
import { openScene, queries, type Scene } from './support/scene.ts'

const hour = 3_600_000

function selection(run: number, more: Partial<Selection> = {}): Selection {
  return { run, list: null, states: ['failed', 'unknown'], error: null, buyAgain: false, ...more }
}

const everything = { states: ['answered', 'reused'], buyAgain: true }

async function reopen({ mill }: Scene, selected: Selection): Promise<number> {
  const { reopened, runs } = await reopenTasks(mill.db, selected)
  for (const run of runs) await rebuild(mill, run)
  return reopened
}

describe('tasks that are to be bought again', () => {
  test('are, however young the answer is that they had', async () => {
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

  test('are bought once for two runs that held the same answer', async () => {
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

  test('are none that have an answer, unless somebody says so', async () => {
    const scene = await openScene()
    const run = await scene.mill.plan(queries(2))
    await scene.mill.drain()
    const answered = selection(run, { states: ['answered', 'reused'] })
    expect(await countSelected(scene.mill.db, answered)).toBe(0)
    expect(await reopen(scene, answered)).toBe(0)
    expect(await scene.mill.states()).toEqual({ answered: 2 })
  })
})

describe('a slip of the hand', () => {
  test.each([
    ['retry', ['--run', '999'], 'which no run has'],
    ['retry', ['--list', 'nosuch'], '"nosuch"; lists so far: test'],
    ['status', ['--run', '999'], 'which no run has'],
    ['reparse', ['--run', '999'], 'which no run has'],
    ['cancel', ['--run', '999'], 'expected run 999 to be open'],
    [
      'retry',
      ['--run', 'last'],
      'to be the number of a run, got "last"; npm run status shows them',
    ],
    ['status', ['--run', '0'], 'to be the number of a run, got "0"'],
    ['reparse', ['--run', '1.5'], 'to be the number of a run, got "1.5"'],
    ['cancel', ['--run', ''], 'to be the number of a run, got ""'],
    ['cancel', [], 'expected --run with the number of a run, got nothing'],
  ])('%s %s ends with 2 and says what there is', async (job, flags, said) => {
    const { mill } = await openScene()
    await mill.plan(['shoes'])
    const ended = await runCommand(job, flags, mill.env)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(said)
  })
})
