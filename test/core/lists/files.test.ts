import { execFileSync, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findFiles } from '../../../src/core/lists/files.ts'
import { openList } from '../../../src/core/lists/read.ts'
import { openFile } from '../../../src/core/lists/source.ts'
import { readTable } from '../../../src/core/lists/table.ts'
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
  const { files } = findFiles({ args, folder, config: join(folder, 'config') })
  return files.map(({ shown, name }) => `${shown} ${name}`)
}

describe('the files of a call', () => {
  test('are each read once, without rejected lines and settings', async () => {
    expect(await found('a.csv', 'config/schedules.csv', 'a.rejected.csv', './a.csv')).toEqual([
      './a.csv a',
    ])
    expect(await found('b.csv', '-', 'deep/er/c.csv')).toEqual([
      'b.csv b',
      '- stdin',
      'deep/er/c.csv c',
    ])
  })

  test('that hold no list are refused when nothing else is named', async () => {
    await expect(found('a.rejected.csv')).rejects.toThrow('correct the lines in the original list')
    await expect(found('config/schedules.csv')).rejects.toThrow('which contains settings')
  })

  test('that would be the same list are refused', async () => {
    await writeFile(join(folder, 'deep', 'a.csv'), 'q\nfoo\n')
    await expect(found('a.csv', 'deep/a.csv')).rejects.toThrow('--as NAME')
  })

  test('that cannot be read are refused with what to do', async () => {
    await expect(openFile(join(folder, 'no.csv'), 'no.csv')).rejects.toThrow(
      'expected no.csv to be a readable file, got a path that does not exist',
    )
    await expect(openFile(join(folder, 'deep'), 'deep')).rejects.toThrow('got a folder')
    await expect(openFile('/dev/zero', '/dev/zero')).rejects.toThrow('got a device')
  })

  test('that are pipes are refused before they are opened, so that nothing in them is lost', async () => {
    const path = join(folder, 'pipe')
    execFileSync('sh', ['-c', 'mkfifo "$0"', path])
    await expect(openFile(path, 'pipe')).rejects.toThrow(
      'got a pipe; pass it as standard input: cat pipe | npm run -s enqueue -- - --as NAME',
    )
    const writer = spawn('sh', ['-c', 'printf "q\\nfoo\\n" > "$0"', path])
    await expect(openFile(path, 'pipe')).rejects.toThrow('got a pipe')
    expect(execFileSync('cat', [path], { timeout: 5_000 }).toString()).toBe('q\nfoo\n')
    writer.kill()
  })

  test('that change while they are read are refused at the end', async () => {
    const path = join(folder, 'a.csv')
    const source = await openFile(path, 'a.csv')
    const drain = async (): Promise<void> => {
      const list = await openList(source, options)
      for await (const _ of list.pieces) await writeFile(path, 'q\nbar\nbaz\n')
    }
    await expect(drain()).rejects.toThrow('changed while it was being read')
    await source.close()
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

  test.each(['', '\ufeff', '\n\n'])('that is %j has no header and is refused', async (text) => {
    const path = join(folder, 't.csv')
    await writeFile(path, text)
    await expect(readTable(path, 't.csv')).rejects.toThrow('expected t.csv to begin with a header')
  })

  test('with a header and nothing below it has no rows', async () => {
    const path = join(folder, 't.csv')
    await writeFile(path, 'a,b\n')
    expect(await readTable(path, 't.csv')).toEqual([])
  })
})
