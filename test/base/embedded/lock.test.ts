import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { withLock } from '../../../src/base/embedded/state.ts'
import { temporaryFolder } from '../../support/place.ts'

const folder = temporaryFolder('lock')
const file = join(folder, 'a.lock')
afterAll(() => rmSync(folder, { recursive: true }))

describe('the lock of a home', () => {
  test('lets one process through at a time, and each of them eventually', async () => {
    let inside = 0
    let most = 0
    const passed = await Promise.all(
      Array.from({ length: 20 }, (_, number) =>
        withLock(file, async () => {
          inside += 1
          most = Math.max(most, inside)
          await turn()
          inside -= 1
          return number
        }),
      ),
    )
    expect(most).toBe(1)
    expect(passed).toHaveLength(20)
  })

  test('is released if the work under it fails', async () => {
    await expect(withLock(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(existsSync(file)).toBe(false)
  })

  test('is taken over from a process that died with it', async () => {
    const dead = spawnSync(process.execPath, ['--version']).pid
    writeFileSync(file, `${dead} left-behind`)
    expect(await withLock(file, async () => 'through')).toBe('through')
    expect(readdirSync(folder), 'nothing is left behind').toEqual([])
  })

  test('is taken over from a process that has held it far too long', async () => {
    writeFileSync(file, `${process.pid} asleep`)
    const longAgo = new Date(Date.now() - 3_600_000)
    utimesSync(file, longAgo, longAgo)
    expect(await withLock(file, async () => 'through')).toBe('through')
  })

  test('is not taken from a live process', async () => {
    writeFileSync(file, `${process.pid} at-work`)
    let entered = false
    const waiting = withLock(file, async () => {
      entered = true
    })
    for (let turns = 0; turns < 200; turns += 1) await turn()
    expect(entered).toBe(false)
    rmSync(file)
    await waiting
    expect(entered).toBe(true)
  })
})
