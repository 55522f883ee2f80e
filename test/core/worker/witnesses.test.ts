import { expect, test } from 'vitest'
import { KeyCheck } from '../../../src/core/worker/outages.ts'
import { answer, bought, lost, refusal, unsent } from './pieces.ts'

const refused = (call: number) => bought(call, refusal(403, 'FORBIDDEN'))

test('a refused key is accepted as such at once if no later call began', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2]) witnesses.begin(task)
  expect((await witnesses.confirm(refused(2))).kind).toBe('key_refused')
})

test('a refused key is not accepted as such if a later call was answered', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2]) witnesses.begin(task)
  await witnesses.confirm(bought(2, answer()))
  expect(await witnesses.confirm(refused(1))).toMatchObject({ kind: 'blocked', code: 'FORBIDDEN' })
})

test('a refused key waits for calls that began later, and is judged by their answers', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2, 3]) witnesses.begin(task)
  const verdict = witnesses.confirm(refused(1))
  await witnesses.confirm(bought(2, lost()))
  await witnesses.confirm(bought(3, answer()))
  expect((await verdict).kind).toBe('blocked')
})

test('a key that is refused for every call in flight is refused', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2, 3]) witnesses.begin(task)
  const verdicts = await Promise.all([1, 2, 3].map((call) => witnesses.confirm(refused(call))))
  expect(verdicts.map(({ kind }) => kind)).toEqual(Array(3).fill('key_refused'))
})

test('an answer from before the refused call is no evidence about the key', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2]) witnesses.begin(task)
  await witnesses.confirm(bought(1, answer()))
  expect((await witnesses.confirm(refused(2))).kind).toBe('key_refused')
})

test('a call that was never sent is no evidence, and is not awaited', async () => {
  const witnesses = new KeyCheck()
  witnesses.begin(1)
  await witnesses.confirm(bought(2, unsent('STOPPED')))
  expect((await witnesses.confirm(refused(1))).kind).toBe('key_refused')
})

test('a call whose reply is not recorded is not awaited any more', async () => {
  const witnesses = new KeyCheck()
  for (const task of [1, 2]) witnesses.begin(task)
  const verdict = witnesses.confirm(refused(1))
  witnesses.forget(2)
  expect((await verdict).kind).toBe('key_refused')
})

test('a query is blamed that another process saw refused before the key was answered', async () => {
  const witnesses = new KeyCheck(async (task) => task === 1)
  witnesses.begin(1)
  expect((await witnesses.confirm(refused(1))).kind).toBe('blocked')
  witnesses.begin(2)
  expect((await witnesses.confirm(refused(2))).kind).toBe('key_refused')
})

test('a query that was refused before, while others were answered since, is blamed even if it goes alone', async () => {
  const witnesses = new KeyCheck()
  witnesses.begin(1)
  expect((await witnesses.confirm(refused(1))).kind).toBe('key_refused')
  witnesses.begin(2)
  await witnesses.confirm(bought(2, answer()))
  witnesses.begin(1)
  expect((await witnesses.confirm(refused(1))).kind).toBe('blocked')
})
