import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rejectsPath, removeRejects, writeRejects } from '../../../src/core/lists/rejects.ts'

let folder: string
let home: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rejects-'))
  home = join(folder, 'home')
  await writeFile(join(folder, 'x.txt'), 'q\nfoo\n')
})

afterEach(async () => rm(folder, { recursive: true }))

const lines = [
  { line: 3, reason: 'no query', content: '=1+1,us' },
  { line: 4, reason: 'a stray quote', content: 'a "b",us' },
]

async function* pages() {
  yield lines
}

function listAt(...parts: readonly string[]) {
  return { path: join(folder, ...parts), name: 'any', home }
}

function piped(name: string) {
  return { path: null, name, home }
}

async function written(of: ReturnType<typeof listAt | typeof piped>): Promise<string> {
  const { path } = await writeRejects(of, pages)
  if (path === null) throw new Error('expected a file of rejected lines, got none')
  return path
}

describe('rejected lines', () => {
  test('are written beside their list, with formulas disarmed, and replaced by the next reading', async () => {
    const list = listAt('b.csv')
    const path = rejectsPath(list.path)
    expect(await writeRejects(list, pages)).toEqual({ path })
    await writeRejects(list, pages)
    expect(await readFile(path, 'utf8')).toBe(
      'line,reason,content\n3,no query,"\'=1+1,us"\n4,a stray quote,"a ""b"",us"\n',
    )
    await removeRejects(list)
    expect(await readdir(folder)).toEqual(['x.txt'])
  })

  test('never replace a file that is not ours, nor follow a link', async () => {
    await writeFile(join(folder, 'a.rejected.csv'), 'q\nfoo\n')
    expect(dirname(await written(listAt('a.csv')))).toBe(join(home, 'rejected'))
    await removeRejects(listAt('a.csv'))
    expect(await readFile(join(folder, 'a.rejected.csv'), 'utf8')).toBe('q\nfoo\n')
    await symlink(join(folder, 'x.txt'), join(folder, 'b.rejected.csv'))
    expect(dirname(await written(listAt('b.csv')))).toBe(join(home, 'rejected'))
    expect(await readFile(join(folder, 'x.txt'), 'utf8')).toBe('q\nfoo\n')
  })

  test('go elsewhere when the folder of the list is gone, and are taken away there', async () => {
    const path = await written(listAt('gone', 'a.csv'))
    expect(path.startsWith(join(home, 'rejected', 'a.'))).toBe(true)
    expect(await readdir(join(home, 'rejected'))).toEqual([basename(path)])
    await removeRejects(listAt('gone', 'a.csv'))
    expect(await readdir(join(home, 'rejected'))).toEqual([])
  })

  test('are no longer elsewhere once they are beside their list', async () => {
    await writeRejects(listAt('later', 'a.csv'), pages)
    await mkdir(join(folder, 'later'))
    expect(dirname(await written(listAt('later', 'a.csv')))).toBe(join(folder, 'later'))
    expect(await readdir(join(home, 'rejected'))).toEqual([])
  })

  test('of lists of one name in several folders have a file each', async () => {
    const one = await written(listAt('one', 'a.csv'))
    const other = await written(listAt('other', 'a.csv'))
    expect(one).not.toBe(other)
    expect(await written(listAt('one', 'a.csv'))).toBe(one)
  })

  test('of standard input are named after the list, whatever its name', async () => {
    const names = ['s1', 's2', 'us/shoes', 'us_shoes', '..', 'é'.repeat(200)]
    const paths = await Promise.all(names.map((name) => written(piped(name))))
    expect(new Set(paths).size).toBe(names.length)
    expect((await readdir(join(home, 'rejected'))).toSorted()).toEqual(
      paths.map((path) => basename(path)).toSorted(),
    )
    expect(basename(paths[2] ?? '')).toMatch(/^us_shoes\.\w{8}\.rejected\.csv$/)
    await removeRejects(piped('s1'))
    expect(await readdir(join(home, 'rejected'))).toHaveLength(names.length - 1)
  })

  test.each(['n'.repeat(245), `${'é'.repeat(120)}xy`, `x${'é'.repeat(120)}`])(
    'of a list with a long name are beside it under as much of the name as fits: %s',
    async (stem) => {
      await writeFile(join(folder, `${stem}.csv`), 'q\n')
      const path = await written(listAt(`${stem}.csv`))
      expect(await readFile(path, 'utf8')).toContain('a stray quote')
      expect(dirname(path)).toBe(folder)
      expect(path).not.toContain('\ufffd')
      expect(await written(listAt(`${stem.slice(0, -1)}z.csv`))).not.toBe(path)
    },
  )

  test('that no file system takes are no error, and the reason is told', async () => {
    await writeFile(home, 'a file where a folder ought to be')
    const list = listAt('gone', 'a.csv')
    expect(await writeRejects(list, pages)).toEqual({ path: null, reason: 'ENOTDIR' })
    await removeRejects(list)
  })

  test('that cannot be looked up leave no draft, and the reason is told', async () => {
    async function* broken() {
      yield lines
      throw new Error('the connection is gone')
    }
    const reason = 'the connection is gone'
    expect(await writeRejects(listAt('b.csv'), broken)).toEqual({ path: null, reason })
    expect(await readdir(folder)).toEqual(['home', 'x.txt'])
    expect(await readdir(join(home, 'rejected'))).toEqual([])
  })
})
