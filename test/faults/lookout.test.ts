import { expect, onTestFinished, test } from 'vitest'
import { pause } from '../../src/base/waiting.ts'
import { type Look, Lookout } from './lookout.ts'

/** A lookout that sees what the test shows, every few milliseconds. */
function openLookout(first: Look | null) {
  const shown = { look: first, looks: 0 }
  const said: string[] = []
  const lookout = new Lookout({
    look: () => {
      shown.looks += 1
      return Promise.resolve(shown.look)
    },
    everyMs: 5,
    limitMs: 150,
    say: (line) => said.push(line),
    explain: () => Promise.resolve('all jobs are taken'),
  })
  onTestFinished(() => lookout.stop())
  /** Shows this until so much time has gone by, and the lookout has seen it. */
  const show = async (look: Look | null, ms: number) => {
    shown.look = look
    const { looks } = shown
    await pause(ms)
    await expect.poll(() => shown.looks, { interval: 2 }).toBeGreaterThan(looks + 2)
  }
  return { lookout, show, said }
}

const fleet = (settled: string, ...able: string[]): Look => ({ settled, able: new Set(able) })

test('a fleet that settles nothing although a worker could stands for as long as that lasts', async () => {
  const { lookout, show } = openLookout(fleet('1', 'a'))
  await show(fleet('1', 'a', 'b'), 200)
  expect(lookout.longestMs).toBeGreaterThanOrEqual(180)
  const stood = lookout.longestMs
  await show(fleet('2', 'a', 'b'), 50)
  expect(lookout.longestMs).toBeLessThan(stood + 100)
})

test('a fleet that stands for too long is told of once, with what there is to see', async () => {
  const { show, said } = openLookout(fleet('1', 'a'))
  await show(fleet('1', 'a'), 50)
  expect(said).toEqual([])
  await show(fleet('1', 'a'), 200)
  await expect.poll(() => said).toHaveLength(2)
  await show(fleet('2', 'a'), 50)
  await show(fleet('2', 'a'), 200)
  expect(said).toEqual([
    expect.stringMatching(/^the fleet has stood for \d+ ms$/),
    'all jobs are taken',
  ])
})

test('time in which each worker was struck in turn counts for none of them beyond its own', async () => {
  const { lookout, show } = openLookout(fleet('1', 'a'))
  for (let turn = 0; turn < 4; turn += 1) {
    await show(fleet('1', 'a'), 60)
    await show(fleet('1', 'b'), 60)
  }
  expect(lookout.longestMs).toBeGreaterThanOrEqual(50)
  expect(lookout.longestMs).toBeLessThan(300)
})

test('nobody stands while nobody can tell, and the time before does not count on', async () => {
  const { lookout, show } = openLookout(fleet('1', 'a'))
  await show(fleet('1', 'a'), 60)
  await show(null, 400)
  await show(fleet('1', 'a'), 60)
  expect(lookout.longestMs).toBeGreaterThanOrEqual(50)
  expect(lookout.longestMs).toBeLessThan(300)
})
