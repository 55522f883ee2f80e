import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readDomains } from '../../../src/commands/domains/file.ts'
import { loadDomains, type OwnDomain } from '../../../src/store/analysis/origins.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'

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
    since: since ?? null,
    until: until ?? null,
  })
  const load = (today: string, ...lines: OwnDomain[]) => loadDomains(database.db, lines, today)
  const table = async () =>
    (
      await database.pool.query({
        text: 'select domain, label, since, until from own_domains order by domain, since nulls first',
        rowMode: 'array',
      })
    ).rows

  test('a new line without dates is ours from the beginning, and stays so however often it is read', async () => {
    expect(await load('2026-01-05', line('us.com', 'Us'))).toEqual({ added: 1, ended: 0 })
    expect(await load('2026-01-06', line('us.com', 'Us'))).toEqual({ added: 0, ended: 0 })
    expect(await table()).toEqual([['us.com', 'Us', null, null]])
  })

  test('a changed label begins today and leaves the past its old one', async () => {
    await load('2026-01-05', line('us.com', 'Us'))
    await load('2026-01-10', line('us.com', 'We'))
    expect(await table()).toEqual([
      ['us.com', 'Us', null, '2026-01-09'],
      ['us.com', 'We', '2026-01-10', null],
    ])
  })

  test('a line that goes away ends yesterday, and one that comes back begins today', async () => {
    await load('2026-01-05', line('us.com', 'Us'))
    expect(await load('2026-01-10')).toEqual({ added: 0, ended: 1 })
    await load('2026-01-20', line('us.com', 'Us'))
    expect(await table()).toEqual([
      ['us.com', 'Us', null, '2026-01-09'],
      ['us.com', 'Us', '2026-01-20', null],
    ])
  })

  test('a line that came today and went today leaves nothing', async () => {
    await load('2026-01-05', line('us.com', 'Us', ['2026-01-05']))
    await load('2026-01-05')
    expect(await table()).toEqual([])
  })

  test('dates of the file are taken at their word, and a last day may be added', async () => {
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
})

describe('our domains in the file', () => {
  const read = (...rows: Record<string, string>[]) =>
    readDomains(
      rows.map((fields, index) => ({ line: index + 2, fields: new Map(Object.entries(fields)) })),
      'domains.csv',
    )

  test('a domain is written as answers are counted, and a missing label is the domain', () => {
    expect(read({ domain: 'WWW.Us.com', label: '' })).toEqual([
      { domain: 'us.com', label: 'us.com', since: null, until: null },
    ])
  })

  test('every line that cannot be used is told at once, with its number', () => {
    expect(() =>
      read(
        { domain: 'https://us.com/' },
        { domain: 'us.com', since: '1.1.2026' },
        { domain: 'b.com', since: '2026-02-01', until: '2026-01-01' },
        { domain: 'b.com', since: '2026-02-01' },
      ),
    ).toThrow(
      /domains.csv:2: expected a domain.*\n.*:3: expected since.*\n.*:4: expected until.*\n.*:5: expected one line/,
    )
  })
})
