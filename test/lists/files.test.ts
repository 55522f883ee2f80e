import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findFiles } from '../../src/lists/files.ts'
import { openList } from '../../src/lists/read.ts'
import { rejectsPath, removeRejects, writeRejects } from '../../src/lists/rejects.ts'
import { openFile } from '../../src/lists/source.ts'
import { readTable } from '../../src/lists/table.ts'
import { options } from './support.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'))
  await mkdir(join(folder, 'config'))
  await mkdir(join(folder, 'deep', 'er'), { recursive: true })
  for (const name of [
    'a.csv',
    'b.csv',
    'a.rejected.csv',
    'config/schedules.csv',
    'deep/er/c.csv',
    'x.txt',
  ]) {
    await writeFile(join(folder, name), 'q\nfoo\n')
  }
})

afterEach(async () => rm(folder, { recursive: true }))

async function found(...args: string[]): Promise<readonly string[]> {
  const { files } = await findFiles({ args, folder, config: join(folder, 'config') })
  return files.map(({ shown, name }) => `${shown} ${name}`)
}

describe('the files of a call', () => {
  test('are those of patterns too, each once, without rejected lines and settings', async () => {
    expect(await found('*.csv', 'b.csv')).toEqual(['a.csv a', 'b.csv b'])
    expect(await found('**/*.csv')).toEqual(['a.csv a', 'b.csv b', 'deep/er/c.csv c'])
    expect(await found('?.*', '-')).toEqual(['a.csv a', 'b.csv b', 'x.txt x', '- stdin'])
  })

  test('that hold no list are refused when nothing else is named', async () => {
    await expect(found('a.rejected.csv')).rejects.toThrow('correct them in the list itself')
    await expect(found('config/schedules.csv')).rejects.toThrow('a file of settings')
    await expect(found('*.tsv')).rejects.toThrow('expected files like *.tsv, got none')
  })

  test('that would be the same list are refused', async () => {
    await writeFile(join(folder, 'deep', 'a.csv'), 'q\nfoo\n')
    await expect(found('a.csv', 'deep/a.csv')).rejects.toThrow('--as NAME')
  })

  test('that cannot be read are refused with what to do', async () => {
    await expect(openFile(join(folder, 'no.csv'), 'no.csv')).rejects.toThrow(
      'expected no.csv to be a readable file, got nothing there',
    )
    await expect(openFile(join(folder, 'deep'), 'deep')).rejects.toThrow('got a folder')
    await expect(openFile('/dev/zero', '/dev/zero')).rejects.toThrow('got a device')
  })

  test('that change while they are read are refused at the end', async () => {
    const path = join(folder, 'a.csv')
    const source = await openFile(path, 'a.csv')
    const drain = async (): Promise<void> => {
      const list = await openList(source, options)
      for await (const _ of list.batches) await writeFile(path, 'q\nbar\nbaz\n')
    }
    await expect(drain()).rejects.toThrow('got a file that changed')
    await source.close()
  })
})

const lines = [
  { line: 3, reason: 'no query', content: '=1+1,us' },
  { line: 4, reason: 'a stray quote', content: 'a "b",us' },
]

async function* pages() {
  yield lines
}

describe('rejected lines', () => {
  test('are written beside their list, with formulas disarmed, and replaced by the next reading', async () => {
    const list = join(folder, 'b.csv')
    expect(await writeRejects(list, folder, pages)).toEqual({
      path: rejectsPath(list),
      beside: true,
    })
    await writeRejects(list, folder, pages)
    expect(await readFile(rejectsPath(list), 'utf8')).toBe(
      'line,reason,content\n3,no query,"\'=1+1,us"\n4,a stray quote,"a ""b"",us"\n',
    )
    await removeRejects(list)
    await expect(readFile(rejectsPath(list))).rejects.toThrow('ENOENT')
  })

  test('never replace a file that is not ours, nor follow a link', async () => {
    const home = join(folder, 'home')
    const own = await writeRejects(join(folder, 'a.csv'), home, pages)
    expect(own).toEqual({ path: join(home, 'rejected', 'a.rejected.csv'), beside: false })
    expect(await readFile(join(folder, 'a.rejected.csv'), 'utf8')).toBe('q\nfoo\n')
    await symlink(join(folder, 'x.txt'), join(folder, 'b.rejected.csv'))
    expect((await writeRejects(join(folder, 'b.csv'), home, pages)).beside).toBe(false)
    expect(await readFile(join(folder, 'x.txt'), 'utf8')).toBe('q\nfoo\n')
  })

  test('go elsewhere when the folder of the list is gone', async () => {
    const home = join(folder, 'home')
    expect((await writeRejects(join(folder, 'gone', 'a.csv'), home, pages)).beside).toBe(false)
  })
})

describe('a table of settings', () => {
  test('is read by the names of its header, with the numbers of its lines', async () => {
    const path = join(folder, 't.csv')
    await writeFile(path, '\ufeffSchedule,max_age,__proto__\r\n\r\nnight,12h,x\r\n"day ", 1h \r\n')
    const rows = await readTable(path, 't.csv')
    expect(rows.map(({ line, fields }) => [line, ...fields.values()])).toEqual([
      [3, 'night', '12h', 'x'],
      [4, 'day', '1h', ''],
    ])
    expect(rows[0]?.fields.get('max_age')).toBe('12h')
  })

  test('with a column twice or a cell too many is refused with its line', async () => {
    const path = join(folder, 't.csv')
    await writeFile(path, 'a,a\n1,2\n')
    await expect(readTable(path, 't.csv')).rejects.toThrow('t.csv:1: expected each column once')
    await writeFile(path, 'a,b\n1,2,3\n')
    await expect(readTable(path, 't.csv')).rejects.toThrow('t.csv:2: expected 2 cells')
  })
})
