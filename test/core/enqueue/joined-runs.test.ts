import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planList } from '../../../src/core/enqueue/planning.ts'
import { type Office, openOffice } from '../../support/office.ts'

let office: Office

beforeAll(async () => {
  office = await openOffice()
})

afterAll(async () => office.close())

describe('a list that is enqueued again manually', () => {
  test('adds missing queries to its open manual run, and otherwise creates a new one', async () => {
    const first = await planList(office.desk, await office.order('hand', 'q\na\n'))
    const second = await planList(office.desk, await office.order('hand', 'q\na\nb\n'))
    expect(second).toMatchObject({ run: first.run, already: 1 })
    await office.finish(first.run)
    const third = await planList(office.desk, await office.order('hand', 'q\na\nb\n'))
    expect(third.run).not.toBe(first.run)
  })

  test('shows what its open run has used and has still to buy, which the budget includes', async () => {
    const first = await planList(
      office.desk,
      await office.order('paid', 'q\na\nb\nc\n', { budget: 5 }),
    )
    expect(first.before).toEqual({ spent: 0, open: 0 })
    await sql`update runs set spent = 4, reserved = 1 where id = ${first.run}`.execute(
      office.desk.db,
    )
    const again = await planList(
      office.desk,
      await office.order('paid', 'q\na\nb\nc\n', { budget: 5 }),
    )
    expect(again).toMatchObject({ run: first.run, queued: 0, before: { spent: 5, open: 3 } })
  })

  test('never adds to the open run of a night', async () => {
    const night = { kind: 'nightly', runDate: '2026-11-20' } as const
    const ofNight = await planList(office.desk, await office.order('night', 'q\na\n', night))
    const byHand = await planList(office.desk, await office.order('night', 'q\na\nb\n'))
    expect(byHand.run).not.toBe(ofNight.run)
    expect(byHand).toMatchObject({ tasks: 2, already: 0 })
  })
})
