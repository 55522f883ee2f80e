import { describe, expect, test } from 'vitest'
import { parseManifest } from '../../../src/features/archive/files.ts'
import { archiveFlags, tablesOf } from '../../../src/features/archive/load.ts'

describe('the tables that a question may read', () => {
  const tables = ['organic_results', 'search_entities', 'raw_answers']

  test('are those that it names, and those behind its views and functions, at any depth', () => {
    expect(tablesOf('select * from ORGANIC_RESULTS', tables)).toEqual(['organic_results'])
    expect(tablesOf('select * from analysis.movers', tables)).toEqual(['organic_results'])
    expect(tablesOf('select * from entity_frequency', tables)).toContain('search_entities')
    expect(tablesOf('select octet_length(body) from raw_answers', tables)).toEqual(['raw_answers'])
    expect(tablesOf('select count(*) from calls', tables)).toEqual([])
  })
})

describe('the flags of a question', () => {
  test('select the whole archive, some days of it, or nothing', () => {
    expect(archiveFlags({}, {})).toBeUndefined()
    expect(archiveFlags({ withArchive: true }, {})).toEqual({ span: undefined, folder: undefined })
    expect(archiveFlags({ archived: '2026-01-01' }, {})?.span).toEqual({
      since: '2026-01-01',
      until: '2026-01-01',
    })
    expect(() => archiveFlags({ archived: '2026-02-01..2026-01-01' }, {})).toThrow(
      'expected --archived to name a day or a range of days',
    )
    expect(() => archiveFlags({ archive: '/srv' }, {})).toThrow('expected --with-archive')
  })
})

describe('a manifest', () => {
  const said = {
    archive: 'querymill',
    version: 3,
    installation: 'ours',
    run_date: '2026-01-01',
    part: 1,
    answers: 0,
    tables: [],
    left_out: [],
  }
  const read = (manifest: object) => parseManifest(JSON.stringify(manifest), 'm.json', 'ours')

  test('is read as it was written; one of another database, layout or kind is refused by name', () => {
    expect(read(said)).toEqual(said)
    expect(() => read({ ...said, installation: 'theirs' })).toThrow(
      'm.json, which belongs to another installation',
    )
    for (const version of [2, 4])
      expect(() => read({ ...said, version })).toThrow(`to have layout 3, got ${version}`)
    expect(() => read({ ...said, more: true })).toThrow('got something else')
    expect(() => parseManifest('{"archive', 'm.json', 'ours')).toThrow('got something else')
  })
})
