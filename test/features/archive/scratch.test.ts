import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { ParquetEngine, withEngine } from '../../../src/features/archive/engine.ts'
import { makeScratch } from '../../../src/features/archive/scratch.ts'
import { compiledFrom } from '../../support/job.ts'
import { temporaryFolder } from '../../support/place.ts'

afterEach(() => vi.unstubAllEnvs())

/** A temporary folder that no other process uses. */
function ownPlace(name: string): string {
  const place = temporaryFolder(name)
  vi.stubEnv('TMPDIR', place)
  return place
}

/** Folders of archives in it. */
function foldersIn(place: string): readonly string[] {
  return readdirSync(place).filter((name) => name.startsWith('querymill-archive-'))
}

/** A process that has opened the engine, and does nothing else. */
async function somebody(place: string) {
  const engine = compiledFrom('src/features/archive/engine.ts')
  const text = `
    const { ParquetEngine } = await import(${JSON.stringify(engine)})
    await ParquetEngine.open()
    console.log('open')
    setInterval(() => undefined, 60_000)`
  const args = ['--input-type=module', '-e', text]
  const env = { ...process.env, TMPDIR: place }
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

test('files left by a killed command are deleted by the next one; two concurrent commands keep their own', async () => {
  const place = ownPlace('killed')
  const first = await somebody(place)
  onTestFinished(() => void first.kill('SIGKILL'))
  const [folder = ''] = foldersIn(place)
  writeFileSync(join(place, folder, '1.csv'), 'half a text')
  await withEngine(async () => {
    expect(foldersIn(place)).toHaveLength(2)
  })
  expect(foldersIn(place)).toEqual([folder])
  const gone = once(first, 'close')
  first.kill('SIGKILL')
  await gone
  expect(foldersIn(place)).toEqual([folder])
  const engine = await ParquetEngine.open()
  expect(foldersIn(place)).not.toContain(folder)
  await engine.close()
  expect(foldersIn(place)).toEqual([])
})

test('folders with other names, folders of unknown processes, and files stay', async () => {
  const place = ownPlace('others')
  const [prefix = '', name = '', among = ''] =
    /^(.*querymill-(\w+)-)(\w+)-/.exec(await makeScratch())?.slice(1) ?? []
  expect(name).toBe('archive')
  for (const each of readdirSync(place)) renameSync(join(place, each), join(place, 'querymill-old'))
  const none = 2 ** 30
  mkdirSync(`${prefix}${'0'.repeat(among.length)}-${none}-abcdef`)
  mkdirSync(`${prefix}${among}-0-abcdef`)
  mkdirSync(`${prefix}abcdef`)
  writeFileSync(`${prefix}${among}-${none}-file`, '')
  const before = readdirSync(place)
  await withEngine(async () => undefined)
  expect(readdirSync(place)).toEqual(before)
})
