// @module-tag slow
// A list that is enqueued again while its run is open: the user decides whether removed queries are dropped or kept.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList } from '../../../src/core/enqueue/planning.ts'
import { type Office, openOffice } from '../../support/office.ts'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

describe('a list that was read with the wrong column', () => {
  test('is not bought with it when it is enqueued again: the command asks, and --drop leaves it unbought', async () => {
    const { mill } = await openScene()
    const file = join(mkdtempSync(join(tmpdir(), 'querymill-corrected-')), 'wrong.csv')
    writeFileSync(file, 'id,keyword\na-1,red shoes\na-2,wool hats\n')
    expect((await run('enqueue', [file, '--column', 'id'], mill.env)).code).toBe(0)
    const preview = await run('enqueue', [file, '--dry-run'], mill.env)
    expect(preview.stdout).toContain(
      'removed   2 queries ("a-1", "a-2") no longer in the list, cost unknown; use --drop to cancel them, or --keep to buy them',
    )
    const asked = await run('enqueue', [file], mill.env)
    expect(asked).toMatchObject({ code: 2 })
    expect(asked.stderr).toContain('expected --drop or --keep for 2 queries ("a-1", "a-2")')
    const dropped = await run('enqueue', [file, '--drop', '--json'], mill.env)
    expect(JSON.parse(dropped.stdout).runs[0]).toMatchObject({
      joined: true,
      queued: 2,
      removed: 2,
      dropped: 2,
    })
    const again = await run('enqueue', [file, '--dry-run', '--json'], mill.env)
    expect(JSON.parse(again.stdout).runs[0]).toMatchObject({ already: 2, removed: 0 })
  })
})

describe('an open run whose list has become shorter', () => {
  let office: Office
  beforeAll(async () => {
    office = await openOffice()
  })
  afterAll(async () => office.close())

  const states = async (id: number) =>
    office.rows<{ q: string; state: string; done: boolean }>(sql`
      select q, state, done_at is not null as done
      from tasks
      join queries on queries.id = query_id
      join slices using (run_id, slice)
      where run_id = ${id}
      order by q`)

  test('buys all queries with --keep, and with --join, which reads a part of a list', async () => {
    const first = await planList(office.desk, await office.order('kept', 'q\na\nb\n'))
    for (const more of [{ ifRemoved: 'keep' as const }, { join: true }]) {
      const again = await planList(office.desk, await office.order('kept', 'q\nb\n', more))
      expect(again).toMatchObject({ run: first.run, dropped: 0 })
    }
    expect((await states(first.run)).map(({ state }) => state)).toEqual(['open', 'open'])
  })

  test('drops the removed queries and their slices, and takes one back that the list contains again', async () => {
    const text = 'q,priority\na,1\nb,5\n'
    const first = await planList(office.desk, await office.order('back', text))
    const less = await office.order('back', 'q,priority\nb,5\n', { ifRemoved: 'drop' })
    expect(await planList(office.desk, less)).toMatchObject({ run: first.run, dropped: 1 })
    expect(await states(first.run)).toEqual([
      { q: 'a', state: 'cancelled', done: true },
      { q: 'b', state: 'open', done: false },
    ])
    const back = await planList(office.desk, await office.order('back', text))
    expect(back).toMatchObject({ run: first.run, queued: 1, already: 1 })
    expect((await states(first.run)).map(({ state }) => state)).toEqual(['open', 'open'])
  })

  test('keeps its answers, and asks only about open tasks', async () => {
    const first = await planList(office.desk, await office.order('paid', 'q\na\nb\n'))
    await sql`
      update tasks set state = 'failed', finished_at = now()
      from queries
      where queries.id = query_id and q = 'a' and run_id = ${first.run}`.execute(office.desk.db)
    const again = await planList(office.desk, await office.order('paid', 'q\nb\n'))
    expect(again).toMatchObject({ run: first.run, removed: { queries: 0 } })
  })
})

describe('a list at night', () => {
  let office: Office
  beforeAll(async () => {
    office = await openOffice()
  })
  afterAll(async () => office.close())

  const night = { kind: 'nightly', runDate: '2026-11-20' } as const
  const listOf = (length: number): string =>
    `q\n${Array.from({ length }, (_, at) => `shoes ${at}`).join('\n')}\n`

  test('that joins an older run drops removed queries', async () => {
    const first = await planList(office.desk, await office.order('joined', listOf(30), night))
    const next = await office.order('joined', listOf(28), { ...night, into: first.run })
    expect(await planList(office.desk, next)).toMatchObject({ run: first.run, dropped: 2 })
  })

  test('that has shrunk by more than half is refused, but accepted manually', async () => {
    await planList(office.desk, await office.order('shrunk', listOf(60)))
    const less = await office.order('shrunk', listOf(29), night)
    await expect(planList(office.desk, less)).rejects.toThrow(
      'expected shrunk to contain about 60 queries, as when it was last read, got 29; if the change is intended, enqueue the list once by hand',
    )
    await planList(office.desk, await office.order('shrunk', listOf(29), { ifRemoved: 'drop' }))
    expect(await planList(office.desk, less)).toMatchObject({ tasks: 29 })
  })
})
