import { describe, expect, test } from 'vitest'
import { readCron } from '../../../src/base/time/cron.ts'
import type { StatementEvent } from '../../../src/core/ledger/statement.ts'
import { nameRises, statementLines } from '../../../src/core/runs/statement.ts'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

const rise: StatementEvent = {
  account: 'bank',
  after: new Date('2026-01-31T23:50Z'),
  at: new Date('2026-02-01T00:10Z'),
  kind: 'top_up',
  credits: 900,
  balance: 1000,
  call_id: 7,
  run_id: null,
}

describe('an increase of the balance', () => {
  const read = readCron('0 0 1 * *')
  const renewal = read.kind === 'cron' ? read.cron : null

  test('is a renewal if one was due between the two balances, and otherwise a top-up', () => {
    const whatOf = (event: StatementEvent, zone: string, cron = renewal) =>
      nameRises([event], { renewal: cron, zone }).map(({ what }) => what)
    expect(whatOf(rise, 'UTC')).toEqual(['renewal'])
    expect(whatOf(rise, 'Asia/Tokyo')).toEqual(['top-up'])
    expect(whatOf(rise, 'UTC', null)).toEqual(['top-up'])
    expect(whatOf({ ...rise, kind: 'others' }, 'UTC')).toEqual(['external spend'])
  })
})

describe('the printed statement', () => {
  test('adds the changes of all days up to the last balance, and dates those that are not ours', () => {
    const sum = { account: 'bank', origin: 'live', perhaps_ours: 0, others: 0, top_up: 0 }
    const sums = [
      { ...sum, group: '2026-01-31', opening: 110, ours: -10, closing: 100 },
      { ...sum, group: '2026-02-01', opening: 100, ours: -5, top_up: 900, closing: 995 },
    ]
    const events = nameRises([rise], { renewal: null, zone: 'UTC' })
    expect(statementLines({ by: 'day', zone: 'UTC', sums, events })).toEqual([
      'account bank',
      [
        'day         opening  ours  perhaps ours  external  added  closing',
        '2026-01-31      110   -10             0         0      0      100',
        '2026-02-01      100    -5             0         0    900      995',
      ].join('\n'),
      'opening balance 110 + 885 in changes = closing balance 995',
      '',
      [
        'after             seen              credits  what    of  balance',
        '2026-01-31 23:50  2026-02-01 00:10    + 900  top-up        1,000',
      ].join('\n'),
    ])
  })
})

describe('npm run statement', () => {
  test('explains a night with a top-up, external spend and a lost reply to the credit', async () => {
    const lostReply = { kind: 'drop' as const, only: [3] }
    const { api, mill } = await openScene({
      api: { credits: 500, faults: [lostReply] },
      settings: { MILL_CONCURRENCY: '1' },
    })
    await mill.plan(queries(4))
    await mill.drain()
    api.books.renew(5000)
    api.books.spendElsewhere(40)
    await mill.plan(queries(2), { list: 'more' })
    await mill.drain()
    const { code, stdout } = await run('statement', ['--by', 'list', '--json'], mill.env)
    const { sums, events } = JSON.parse(stdout)
    expect(code).toBe(0)
    expect(sums.map(({ group, ours }: Record<string, unknown>) => [group, ours])).toEqual(
      expect.arrayContaining([
        ['test', -4],
        ['more', -2],
      ]),
    )
    const told = events.map(({ what, credits }: Record<string, unknown>) => [what, credits])
    expect(told).toEqual([
      ['perhaps ours', -1],
      ['top-up', 5000 - 40 - 495],
    ])
    const days = JSON.parse((await run('statement', ['--json'], mill.env)).stdout)
    expect(days.sums[0].opening).toBe(500)
    expect(days.sums.at(-1).closing).toBe(api.books.balance)
  })

  test('refuses an invalid date or grouping in one sentence', async () => {
    const none = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
    const date = await run('statement', ['--since', '2026-02-30'], none)
    expect([date.code, date.stderr]).toEqual([
      2,
      expect.stringContaining('expected --since to be a date like 2026-01-31, got 2026-02-30'),
    ])
    const by = await run('statement', ['--by', 'hour'], none)
    expect([by.code, by.stderr]).toEqual([
      2,
      expect.stringContaining('expected --by to be one of day, list, run, got hour'),
    ])
  })
})
