import { describe, expect, test } from 'vitest'
import { environmentReaders, nameless, shortcuts, weakTitles } from './manners.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))

describe('conventions', () => {
  test('each escape from the type system is found, and its look-alikes are not', () => {
    expect(
      shortcuts(
        tree({
          'src/a.ts': `export const n = (value: any) => value!.name`,
          'src/b.ts': `export default 1\nenum Kind { One }`,
          'src/c.ts': [
            '// @ts',
            'ignore because\nexport class C { constructor(private a: string) {} }',
          ].join('-'),
          'src/fine.ts': `export const any = (a: boolean) => !a && 'any!' // any enum!`,
          'vitest.config.ts': 'export default {}',
        }),
      ),
    ).toEqual([
      'src/a.ts: any',
      'src/a.ts: non-null !',
      'src/b.ts: default export',
      'src/b.ts: enum',
      'src/c.ts: @ts comment',
      'src/c.ts: parameter property',
    ])
  })

  test('a second file that reads the environment is found, in any spelling', () => {
    expect(
      environmentReaders(
        tree({
          'src/base/config.ts': 'export const a = process.env',
          'src/b.ts': `export const b = process.env['HOME']`,
          'jobs/c.ts': `export const c = process['env'].HOME`,
          'src/d.ts': '// process.env is read elsewhere',
        }),
      ),
    ).toEqual(['src/b.ts', 'jobs/c.ts'])
  })

  test('vague file and folder names are found', () => {
    const drawers = tree({ 'src/utils/time.ts': '', 'src/plan/helpers.ts': '', 'src/index.ts': '' })
    expect(nameless(drawers)).toEqual([...drawers.keys()])
    expect(nameless(tree({ 'src/library.ts': '', 'src/search/call.ts': '' }))).toEqual([])
  })

  test('titles without behaviour and duplicate titles are found', () => {
    const text = [
      `test('a thing should happen', () => {})`,
      `test.each(rows)('it works for %s', () => {})`,
      `test.skipIf(!hasRedis)('a promise', () => {})`,
      `test.prop([x])('a promise', () => {})`,
      `expect(/a/.test('should not count')).toBe(true)`,
    ].join('\n')
    expect(weakTitles(tree({ 'test/a.test.ts': text }))).toEqual([
      'test/a.test.ts: "a thing should happen"',
      'test/a.test.ts: "it works for %s"',
      'test/a.test.ts: twice "a promise"',
    ])
  })
})
