import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  changeDomains,
  loadDomains,
  type OwnDomain,
  undoDomains,
} from '../../../src/features/analysis/domains.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

describe('our domains in the tables', () => {
  let database: FreshDatabase
  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.close())

  const line = (
    domain: string,
    label: string,
    [since, until]: readonly (string | null)[] = [],
  ): OwnDomain => ({
    domain,
    label,
    brand: null,
    since: since ?? null,
    until: until ?? null,
    rival: false,
  })
  const load = (today: string, ...lines: OwnDomain[]) =>
    changeDomains(database.db, 'load', (trx) =>
      loadDomains(trx, { lines, today, brands: true, rivals: true }),
    )
  const table = async () =>
    (
      await database.pool.query({
        text: 'select domain, label, since, until from own_domains order by domain, since nulls first',
        rowMode: 'array',
      })
    ).rows

  test('a new line without dates is ours from the beginning, and stays so however often it is read', async () => {
    const added = { change: 'added', ...line('us.com', 'Us') }
    expect(await load('2026-01-05', line('us.com', 'Us'))).toEqual([added])
    expect(await load('2026-01-06', line('us.com', 'Us'))).toEqual([])
    expect(await table()).toEqual([['us.com', 'Us', null, null]])
  })

  test('a changed label starts today and leaves the past with its old one', async () => {
    await load('2026-01-05', line('us.com', 'Us'))
    await load('2026-01-10', line('us.com', 'We'))
    expect(await table()).toEqual([
      ['us.com', 'Us', null, '2026-01-09'],
      ['us.com', 'We', '2026-01-10', null],
    ])
  })

  test('a removed line ends yesterday, and a restored one starts today', async () => {
    await load('2026-01-05', line('us.com', 'Us'))
    const us = line('us.com', 'Us')
    expect(await load('2026-01-10')).toEqual([
      { change: 'removed', ...us, until: null },
      { change: 'added', ...us, until: '2026-01-09' },
    ])
    await load('2026-01-20', line('us.com', 'Us'))
    expect(await table()).toEqual([
      ['us.com', 'Us', null, '2026-01-09'],
      ['us.com', 'Us', '2026-01-20', null],
    ])
  })

  test('a line that was added and removed today leaves nothing', async () => {
    await load('2026-01-05', line('us.com', 'Us', ['2026-01-05']))
    await load('2026-01-05')
    expect(await table()).toEqual([])
  })

  test('dates in the file are used as given, and an end date may be added', async () => {
    const lines = [
      line('us.com', 'Old', [null, '2025-12-31']),
      line('us.com', 'New', ['2026-01-01']),
      line('shop.com', 'Shop'),
    ]
    await load('2026-01-05', ...lines)
    await load('2026-01-06', ...lines)
    await load('2026-01-07', ...lines.slice(0, 2), line('shop.com', 'Shop', [null, '2026-03-01']))
    expect(await table()).toEqual([
      ['shop.com', 'Shop', null, '2026-03-01'],
      ['us.com', 'Old', null, '2025-12-31'],
      ['us.com', 'New', '2026-01-01', null],
    ])
  })

  test('every change can be undone, and the undo as well', async () => {
    const undo = () => changeDomains(database.db, 'undo', undoDomains)
    await load('2026-01-05', line('us.com', 'Us'), line('shop.com', 'Shop'))
    const before = await table()
    await load('2026-01-10', line('us.com', 'We'))
    const after = await table()
    expect(after).not.toEqual(before)
    await undo()
    expect(await table()).toEqual(before)
    await undo()
    expect(await table()).toEqual(after)
  })
})
