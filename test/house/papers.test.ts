import { describe, expect, test } from 'vitest'
import {
  deadLinks,
  deadPaths,
  keysShown,
  picturedRooms,
  placesOfOneMachine,
  settingsShown,
  unknownCommands,
} from './papers.ts'

const tree = (files: Record<string, string>) => new Map(Object.entries(files))

describe('the docs', () => {
  test('a command that does not exist is found, with and without -s', () => {
    const text = 'Type `npm run -s work -- --drain` or `npm run wrok`.'
    expect(unknownCommands(tree({ 'README.md': text }), { work: '' })).toEqual(['README.md: wrok'])
  })

  test('a dead link is found from the folder of its page, and addresses are ignored', () => {
    const text = '[a](decisions/a.md#top) [b](b.md) [c](https://example.com/c)'
    const exists = (path: string) => path === 'docs/decisions/a.md'
    expect(deadLinks(tree({ 'docs/README.md': text }), exists)).toEqual(['docs/README.md: b.md'])
  })

  test('a missing path of the project is found, and one with a placeholder is ignored', () => {
    const text = 'See `src/old.ts`, `src/new/`, `jobs/NAME.ts`, `inputs/*.csv` and `npm run sql`.'
    const exists = (path: string) => path === 'src/new/'
    expect(deadPaths(tree({ 'docs/house.md': text }), exists)).toEqual([
      'docs/house.md: src/old.ts',
    ])
  })

  test('a diagram of the house shows rooms on floors, and its descriptions are not rooms', () => {
    const page = [
      'The way goes from `jobs` to `base`.',
      '```',
      '10  jobs/      short programs, one a command',
      ' 2  core/      queue/  lists     what a worker runs on',
      ' 2  pipeline   the main path',
      ' 1  base/      every statement',
      '```',
    ].join('\n')
    const rooms = new Set(['jobs', 'core/queue', 'core/lists', 'pipeline', 'base', 'desk'])
    expect(picturedRooms(page, rooms)).toEqual([
      '1 base',
      '10 jobs',
      '2 core/lists',
      '2 core/queue',
      '2 pipeline',
    ])
  })

  test('a path of one workplace and a host of a registry are found, a path inside the project is not', () => {
    const files = tree({
      'a.md': ['see ', 'work', 'main', 'x.ts'].join('/'),
      'b.json': ['https://registry', 'npmjs', 'org/pg'].join('.'),
      'c.ts': `import '${['..', 'jobs', 'work', 'x.ts'].join('/')}'`,
    })
    expect(placesOfOneMachine(files)).toHaveLength(2)
  })

  test('settings are read from an example file, set or commented out', () => {
    expect(settingsShown('# Words.\nA_B=1\n# C_D=2\n#E_F=\nnot ONE=1\n')).toEqual([
      'A_B',
      'C_D',
      'E_F',
    ])
  })

  test('a string that looks like a real key is found, and an obvious sample is not', () => {
    expect(keysShown('sk_test_sample sk_live_your_key')).toEqual([])
    expect(keysShown(['sk', 'live', 'a1b2c3d4e5'].join('_'))).toHaveLength(1)
  })
})
