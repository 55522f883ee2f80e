import { execFileSync, spawnSync } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { findTarget, writeTarget } from '../../../src/features/analysis/target.ts'
import { temporaryFolder } from '../../support/place.ts'

const home = temporaryFolder('target')
afterAll(() => rmSync(home, { recursive: true, force: true }))

function place(): string {
  return mkdtempSync(join(home, 'place-'))
}

async function write(path: string, pieces: Iterable<string> | AsyncIterable<string>) {
  await writeTarget(await findTarget(path, 'shown'), pieces)
}

async function* breakOff() {
  yield 'half'
  await Promise.resolve()
  throw new Error('the server is gone')
}

describe('a file', () => {
  test('is replaced completely, and stays unchanged if the pieces end early', async () => {
    const folder = place()
    const path = join(folder, 'out.csv')
    await write(path, ['old'])
    await expect(write(path, breakOff())).rejects.toThrow('the server is gone')
    expect(readFileSync(path, 'utf8')).toBe('old')
    await write(path, ['a\n', 'é\n'])
    expect(readFileSync(path, 'utf8')).toBe('a\né\n')
    expect(readdirSync(folder)).toEqual(['out.csv'])
  })

  test('is never incomplete for its readers', async () => {
    const path = join(place(), 'out.csv')
    await write(path, ['old'])
    const seen: string[] = []
    function* look() {
      yield 'new '
      seen.push(readFileSync(path, 'utf8'))
      yield 'and whole'
    }
    await write(path, look())
    expect([...seen, readFileSync(path, 'utf8')]).toEqual(['old', 'new and whole'])
  })

  test('leaves no draft behind if the process ends in the middle', () => {
    const folder = place()
    const program = `
      const { findTarget, writeTarget } = await import('./dist/src/features/analysis/target.js')
      async function* pieces() {
        yield 'half'
        process.stdout.write((await import('node:fs')).readdirSync(process.argv[1]).join())
        process.exit(130)
      }
      await writeTarget(await findTarget(process.argv[1] + '/out.csv', 'out.csv'), pieces())`
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program, folder], {
      cwd: root,
      encoding: 'utf8',
    })
    expect([ended.status, ended.stdout]).toEqual([
      130,
      expect.stringMatching(/^out\.csv\.\d+\.part$/),
    ])
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('a link', () => {
  test('stays a link, and its target is replaced', async () => {
    const folder = place()
    mkdirSync(join(folder, 'deep'))
    writeFileSync(join(folder, 'deep', 'real.csv'), 'old')
    symlinkSync('deep/real.csv', join(folder, 'first'))
    symlinkSync('first', join(folder, 'second'))
    await write(join(folder, 'second'), ['new'])
    expect(lstatSync(join(folder, 'second')).isSymbolicLink()).toBe(true)
    expect(lstatSync(join(folder, 'first')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(folder, 'deep', 'real.csv'), 'utf8')).toBe('new')
    expect(readdirSync(join(folder, 'deep'))).toEqual(['real.csv'])
  })

  test('to a missing file creates that file', async () => {
    const folder = place()
    mkdirSync(join(folder, 'deep'))
    symlinkSync('deep/new.csv', join(folder, 'link'))
    await write(join(folder, 'link'), ['new'])
    expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(folder, 'deep', 'new.csv'), 'utf8')).toBe('new')
  })

  test('at the place of the draft is not written through', async () => {
    const folder = place()
    writeFileSync(join(folder, 'precious'), 'mine')
    symlinkSync('precious', join(folder, `out.csv.${process.pid}.part`))
    await write(join(folder, 'out.csv'), ['new'])
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('mine')
    expect(lstatSync(join(folder, 'out.csv')).isFile()).toBe(true)
  })
})

describe('an unwritable target', () => {
  test('is refused with the reason and what to do', async () => {
    const folder = place()
    writeFileSync(join(folder, 'file'), '')
    symlinkSync('loop', join(folder, 'loop'))
    symlinkSync('.', join(folder, 'here'))
    execFileSync('mkfifo', [join(folder, 'pipe')])
    const wrong = {
      [folder]: 'got a folder; name a file in it',
      [join(folder, 'here')]: 'got a folder; name a file in it',
      [join(folder, 'no', 'out.csv')]:
        'got a file in a folder that does not exist; create the folder',
      [join(folder, 'file', 'out.csv')]: 'got a path that uses a file as a folder; check the path',
      [join(folder, 'pipe')]: 'got a pipe, a socket or a device; choose a file',
      '/dev/null': 'got a pipe, a socket or a device; choose a file',
      [join(folder, 'loop')]: 'got a link to itself; choose another file',
    }
    for (const [path, message] of Object.entries(wrong)) {
      await expect(write(path, ['x'])).rejects.toThrow(
        `expected shown to be a writable file, ${message}`,
      )
    }
    expect(readdirSync(folder).toSorted()).toEqual(['file', 'here', 'loop', 'pipe'])
  })
})
