import { describe, expect, test } from 'vitest'
import { openLanes } from '../../../src/core/search/concurrency.ts'

function hold() {
  let release = () => undefined as void
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  return { held, release }
}

describe('lanes', () => {
  test('delay calls when all are taken, until one is free', async () => {
    const lanes = openLanes(2)
    const holds = [hold(), hold(), hold()]
    const begun: number[] = []
    const done = holds.map(({ held }, index) =>
      lanes.run(async () => {
        begun.push(index)
        await held
        return index
      }),
    )
    await expect.poll(() => begun).toEqual([0, 1])
    expect(lanes.free()).toBe(0)
    holds[1]?.release()
    await expect.poll(() => begun).toEqual([0, 1, 2])
    for (const { release } of holds) release()
    expect(await Promise.all(done)).toEqual([0, 1, 2])
    await expect.poll(() => lanes.free()).toBe(2)
  })

  test('are released by a call that throws', async () => {
    const lanes = openLanes(1)
    await expect(lanes.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await lanes.run(() => Promise.resolve('next'))).toBe('next')
  })

  test('can be reduced and increased while calls wait, never below one and never above the maximum', async () => {
    const lanes = openLanes(2)
    lanes.resize(1)
    const { held, release } = hold()
    let begun = 0
    const count = async () => {
      begun += 1
      await held
    }
    const calls = [lanes.run(count), lanes.run(count), lanes.run(count)]
    await expect.poll(() => begun).toBe(1)
    lanes.resize(3)
    await expect.poll(() => begun).toBe(2)
    expect(lanes.free()).toBe(0)
    lanes.resize(0)
    release()
    await Promise.all(calls)
    await expect.poll(() => lanes.free()).toBe(1)
  })

  test('request calls in advance, in groups of half of the ready ones', async () => {
    const lanes = openLanes(2, 4)
    expect(lanes.free()).toBe(6)
    const holds = Array.from({ length: 6 }, hold)
    let begun = 0
    const calls = holds.map(({ held }) =>
      lanes.run(async () => {
        begun += 1
        await held
      }),
    )
    await expect.poll(() => begun).toBe(2)
    expect(lanes.free()).toBe(0)
    holds[0]?.release()
    await expect.poll(() => begun).toBe(3)
    expect(lanes.free()).toBe(0)
    holds[1]?.release()
    await expect.poll(() => begun).toBe(4)
    expect(lanes.free()).toBe(2)
    for (const { release } of holds) release()
    await Promise.all(calls)
    await expect.poll(() => lanes.free()).toBe(6)
  })

  test('request none in advance if no more calls can be afforded than there are lanes', () => {
    const lanes = openLanes(4, 2)
    lanes.resize(5)
    expect(lanes.free()).toBe(5)
    lanes.resize(4)
    expect(lanes.free()).toBe(4)
    lanes.resize(3)
    expect(lanes.free()).toBe(3)
    lanes.resize(100)
    expect(lanes.free()).toBe(6)
  })
})
