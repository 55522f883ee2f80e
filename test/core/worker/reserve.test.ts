import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Reserve, spool, unspool } from '../../../src/core/worker/spool.ts'

function openFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'querymill-reserve-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('room that is taken is there on the disk, and gone when it is given back', () => {
  const folder = openFolder()
  const reserve = Reserve.take(folder, 300_000)
  const { size, blocks, mode } = statSync(reserve.file)
  expect(size).toBeGreaterThanOrEqual(300_000)
  expect(blocks * 512).toBeGreaterThanOrEqual(300_000)
  expect(mode & 0o777).toBe(0o600)
  reserve.release()
  reserve.release()
  expect(readdirSync(folder)).toEqual([])
})

test('what is kept in the room takes its place, and no more than it needs', () => {
  const folder = openFolder()
  const reserve = Reserve.take(folder, 300_000)
  const { file, left } = spool({ folder, name: 'mill-1', reserve }, ['kept'])
  expect(left).toEqual([])
  expect(statSync(file).size).toBe('"kept"\n'.length)
  expect(unspool(folder, 'mill')).toEqual([{ file, items: ['kept'], torn: 0 }])
  // Room is used once; what comes later finds its own.
  const later = spool({ folder, name: 'mill-2', reserve }, ['late'])
  reserve.release()
  expect(readdirSync(folder).toSorted()).toEqual(['mill-1.ndjson', 'mill-2.ndjson'])
  expect(unspool(folder, 'mill-2')).toEqual([{ file: later.file, items: ['late'], torn: 0 }])
})

test('what does not fit into the room goes beyond it where the disk has more', () => {
  const folder = openFolder()
  const items = ['x'.repeat(200_000), 'y'.repeat(200_000)]
  const { file, left } = spool(
    { folder, name: 'mill-1', reserve: Reserve.take(folder, 1_000) },
    items,
  )
  expect(left).toEqual([])
  expect(unspool(folder, 'mill')).toEqual([{ file, items, torn: 0 }])
})

test('a file is kept as well where somebody removed the room meanwhile', () => {
  const folder = openFolder()
  const reserve = Reserve.take(folder, 1_000)
  rmSync(reserve.file)
  const { file } = spool({ folder, name: 'mill-1', reserve }, ['kept'])
  expect(unspool(folder, 'mill')).toEqual([{ file, items: ['kept'], torn: 0 }])
  reserve.release()
})

test('room that a killed worker left is given back by the next one, that of the living stays', () => {
  const folder = openFolder()
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  const names = {
    dead: `reserve-${hostname()}-${dead}-1`,
    alive: `reserve-${hostname()}-${process.ppid}-1`,
    elsewhere: `reserve-elsewhere-${dead}-1`,
    forgotten: `reserve-forgotten-${dead}-1`,
  }
  for (const name of Object.values(names)) writeFileSync(join(folder, name), 'x')
  const longAgo = new Date(Date.now() - 2 * 86_400_000)
  for (const name of [names.alive, names.forgotten])
    utimesSync(join(folder, name), longAgo, longAgo)
  const reserve = Reserve.take(folder, 1_000)
  const left = Object.entries(names).filter(([, name]) => existsSync(join(folder, name)))
  expect(left.map(([kind]) => kind)).toEqual(['alive', 'elsewhere'])
  utimesSync(reserve.file, longAgo, longAgo)
  reserve.touch()
  expect(Date.now() - statSync(reserve.file).mtimeMs).toBeLessThan(60_000)
  reserve.release()
})
