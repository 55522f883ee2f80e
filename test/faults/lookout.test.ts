import { expect, onTestFinished, test } from 'vitest'
import { type Look, Lookout } from './lookout.ts'

const lookMs = 5

function openLookout() {
  const asked: ((look: Look | null) => void)[] = []
  const said: string[] = []
  const lookout = new Lookout({
    look: () => new Promise((see) => asked.push(see)),
    everyMs: lookMs,
    limitMs: 150,
    say: (line) => said.push(line),
    explain: () => Promise.resolve('all jobs are taken'),
  })
  onTestFinished(() => {
    lookout.stop()
    for (const see of asked) see(null)
  })
  /** Shows this state at each check during this period. */
  const show = async (look: Look | null, ms: number) => {
    for (let shown = 0; shown < ms; shown += lookMs) {
      await expect.poll(() => asked, { interval: 1 }).toHaveLength(1)
      asked.shift()?.(look)
    }
    await expect.poll(() => asked, { interval: 1 }).toHaveLength(1)
  }
  return { lookout, show, said }
}

const fleet = (settled: string, ...able: string[]): Look => ({ settled, able: new Set(able) })

test('a fleet that settles nothing although a worker could counts as stalled for that time', async () => {
  const { lookout, show } = openLookout()
  await show(fleet('1', 'a', 'b'), 200)
  expect(lookout.longestMs).toBe(200 - lookMs)
  await show(fleet('2', 'a', 'b'), 50)
  expect(lookout.longestMs).toBe(200 - lookMs)
})

test('a fleet that is stalled for too long is reported once, with its state', async () => {
  const { show, said } = openLookout()
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

test('time in which each worker was disturbed in turn counts for none of them beyond its own', async () => {
  const { lookout, show } = openLookout()
  for (let turn = 0; turn < 4; turn += 1) {
    await show(fleet('1', 'a'), 60)
    await show(fleet('1', 'b'), 60)
  }
  expect(lookout.longestMs).toBe(60 - lookMs)
})

test('a fleet in an unknown state is not stalled, and the time before does not count', async () => {
  const { lookout, show } = openLookout()
  await show(fleet('1', 'a'), 60)
  await show(null, 400)
  await show(fleet('1', 'a'), 60)
  expect(lookout.longestMs).toBe(60 - lookMs)
})
