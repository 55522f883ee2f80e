import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { rejectsPath, removeRejects, writeRejects } from '../../../src/core/lists/rejects.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rejects-'))
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

function pathOf(...parts: readonly string[]): string {
  return rejectsPath(join(folder, ...parts))
}

describe('rejected lines', () => {
  test('are written beside their list, with formulas disarmed, and replaced by the next reading', async () => {
    const path = pathOf('b.csv')
    expect(path).toBe(join(folder, 'b.rejected.csv'))
    expect(await writeRejects(path, pages())).toBeNull()
    expect(await writeRejects(path, pages())).toBeNull()
    expect(await readFile(path, 'utf8')).toBe(
      'line,reason,content\n3,no query,"\'=1+1,us"\n4,a stray quote,"a ""b"",us"\n',
    )
    await removeRejects(path)
    expect(await readdir(folder)).toEqual(['x.txt'])
  })

  test('of a table are in a file whose name any file system takes', () => {
    expect(rejectsPath('/lists/b.xlsx', 'a/b: c')).toBe('/lists/b (a_b_ c).rejected.csv')
  })

  test('never replace a file that is not ours, nor follow a link', async () => {
    const taken = 'its name is taken or too long'
    await writeFile(pathOf('a.csv'), 'q\nfoo\n')
    expect(await writeRejects(pathOf('a.csv'), pages())).toBe(taken)
    await removeRejects(pathOf('a.csv'))
    expect(await readFile(pathOf('a.csv'), 'utf8')).toBe('q\nfoo\n')
    await symlink(join(folder, 'x.txt'), pathOf('b.csv'))
    expect(await writeRejects(pathOf('b.csv'), pages())).toBe(taken)
    expect(await readFile(join(folder, 'x.txt'), 'utf8')).toBe('q\nfoo\n')
  })

  test('that no file system takes are no error, and the reason is told', async () => {
    const path = pathOf('gone', 'a.csv')
    expect(await writeRejects(path, pages())).toBe('ENOENT')
    await removeRejects(path)
  })

  test('that cannot be looked up leave no draft, and the reason is told', async () => {
    async function* broken() {
      yield lines
      throw new Error('the connection is gone')
    }
    expect(await writeRejects(pathOf('b.csv'), broken())).toBe('the connection is gone')
    expect(await readdir(folder)).toEqual(['x.txt'])
  })
})
