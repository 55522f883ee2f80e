import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { forget, setAside, spool, unspool } from '../../../src/core/worker/spool.ts'

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-spool-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'spool')
}

function write(folder: string, name: string, items: readonly unknown[]): string {
  return spool({ folder, name }, items).file
}

describe('what is put into a file', () => {
  test('comes back as it was: bytes, times, and names that look like marks of the file', () => {
    const folder = openFolder()
    const items = [
      { call: 1, body: Buffer.from([0, 255, 10, 13]), at: new Date('2026-03-01T12:00:00.123Z') },
      { call: 2, extra: { $bytes: 'AAAA', $time: 'no time', $pairs: [1], plain: [null, 'a\nb'] } },
      { call: 3, extra: JSON.parse('{"__proto__": {"admin": true}}') as object },
    ]
    const file = write(folder, 'mill-1', items)
    expect(unspool(folder, 'mill')).toEqual([{ file, items, torn: 0 }])
    const [found] = unspool<{ extra?: object }>(folder, 'mill')
    expect(Object.keys(found?.items[2]?.extra ?? {})).toEqual(['__proto__'])
  })

  test('is for its owner alone, and nothing half written lies beside it', () => {
    const folder = openFolder()
    const file = write(folder, 'mill-1', ['kept'])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['mill-1.ndjson'])
  })

  test('never takes the place of another file', () => {
    const folder = openFolder()
    write(folder, 'mill-1', ['kept'])
    writeFileSync(join(folder, 'mill-2.ndjson.draft'), 'of somebody else')
    expect(() => write(folder, 'mill-2', ['late'])).toThrow('EEXIST')
  })
})

describe('files that are looked for', () => {
  test('are those of one name that are whole: no drafts, none of others', () => {
    const folder = openFolder()
    const mine = [write(folder, 'mill-1', ['a']), write(folder, 'mill-2', ['b'])]
    write(folder, 'other-1', ['c'])
    writeFileSync(join(folder, 'mill-3.ndjson.draft'), '"d"\n')
    const found = unspool(folder, 'mill')
    expect(found.map(({ file }) => file).toSorted()).toEqual(mine)
  })

  test('say how many of their lines are torn, and keep the others', () => {
    const folder = openFolder()
    const file = write(folder, 'mill-1', ['a'])
    writeFileSync(file, '"a"\n{"call": 1, "bo\n\n"b"\n')
    expect(unspool(folder, 'mill')).toEqual([{ file, items: ['a', 'b'], torn: 1 }])
  })

  test('are none where no folder is', () => {
    expect(unspool(openFolder(), 'mill')).toEqual([])
  })
})

test('a file that was settled is gone, and may be gone already', () => {
  const folder = openFolder()
  const file = write(folder, 'mill-1', ['a'])
  forget(file)
  forget(file)
  expect(readdirSync(folder)).toEqual([])
})

test('a file that is set aside stays under another name, where nobody looks for work', () => {
  const folder = openFolder()
  const file = write(folder, 'mill-1', ['a'])
  expect(setAside(file)).toBe(`${file}.left`)
  expect(unspool(folder, 'mill')).toEqual([])
  expect(readdirSync(folder)).toEqual(['mill-1.ndjson.left'])
  // Somebody else was faster.
  expect(setAside(file)).toBe(`${file}.left`)
})
