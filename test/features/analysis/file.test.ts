import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDomains } from '../../../src/features/analysis/domains-command.ts'
import { bindQuestion, readQuestions } from '../../../src/features/analysis/library.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { Story } from './story.ts'

let database: FreshDatabase
const home = temporaryFolder('names')
beforeAll(async () => {
  database = await freshDatabase()
  await new Story(database.pool).night('2026-01-01', { shoes: ['https://bücher.de/', 'a.com/'] })
})
afterAll(() => database.close())

const read = (domain: string, label = '') =>
  readDomains(
    [
      {
        line: 2,
        fields: new Map([
          ['domain', domain],
          ['label', label],
        ]),
      },
    ],
    'domains.csv',
  )

test('a domain of ours is normalized like addresses, and has the label of the file', () => {
  expect(read('WWW.Bücher.de')).toMatchObject([{ domain: 'xn--bcher-kva.de', label: 'bücher.de' }])
  expect(read('bücher.de', 'Us')).toMatchObject([{ domain: 'xn--bcher-kva.de', label: 'Us' }])
  expect(read('xn--bcher-kva.de')).toMatchObject([{ domain: 'xn--bcher-kva.de' }])
})

test('a domain without another spelling is only converted to lower case', () => {
  // A name with characters of both text directions is not a host.
  expect(read('א1Ü.de')).toMatchObject([{ domain: 'א1ü.de', label: 'א1ü.de' }])
})

test('one domain spelled twice is reported as a duplicate line', () => {
  const rows = ['bücher.de', 'xn--bcher-kva.de'].map((domain, index) => {
    return { line: index + 2, fields: new Map([['domain', domain]]) }
  })
  expect(() => readDomains(rows, 'domains.csv')).toThrow(/domains.csv:3: .*got a second one/)
})

test('a question finds a domain in any spelling', () => {
  const question = readQuestions().find(({ name }) => name === 'keyword-history')
  if (question === undefined) throw new Error('expected keyword-history in the library')
  const bind = (domain: string) => bindQuestion(question, ['--q', 'Bücher.de', '--domain', domain])
  expect(bind('WWW.Bücher.de').values).toEqual(['Bücher.de', 'xn--bcher-kva.de'])
  expect(bind('').values).toEqual(['Bücher.de', null])
})

test('the report finds a domain in any spelling', async () => {
  const { code } = await run('report', ['--to', 'page.html', '--domains', 'Bücher.de'], {
    DATABASE_URL: database.url,
    MILL_HOME: home,
    INIT_CWD: home,
  })
  expect(code).toBe(0)
  const page = readFileSync(join(home, 'page.html'), 'utf8')
  expect(page).toMatch(/Rank history of xn--bcher-kva\.de.*shoes.*now 1/s)
})

describe('our domains in the file', () => {
  const readAll = (...rows: Record<string, string>[]) =>
    readDomains(
      rows.map((fields, index) => ({ line: index + 2, fields: new Map(Object.entries(fields)) })),
      'domains.csv',
    )

  test('a domain is normalized like answers, and a missing label is the domain', () => {
    expect(readAll({ domain: 'WWW.Us.com', label: '' })).toEqual([
      { domain: 'us.com', label: 'us.com', since: null, until: null, brand: null, rival: false },
    ])
  })

  test('a folder keeps its case and its host does not, and a wildcard has a star', () => {
    const sites = ['WWW.Us.com/Team/', '*.Bücher.de', '*.us.com/café'].map(
      (domain) => readAll({ domain })[0]?.domain,
    )
    expect(sites).toEqual(['us.com/Team', '*.xn--bcher-kva.de', '*.us.com/caf%C3%A9'])
    expect(readAll({ domain: 'b.com', rival: 'Yes', brand: 'B' })).toMatchObject([
      { brand: 'B', rival: true },
    ])
    expect(() => readAll({ domain: 'b.com', rival: 'perhaps' })).toThrow(
      'domains.csv:2: expected rival to be yes, no or empty, got perhaps',
    )
    expect(() => readAll({ domain: 'us.com/?q=1' })).toThrow('expected a domain like')
  })

  test('every invalid line is reported at once, with its number', () => {
    expect(() =>
      readAll(
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
