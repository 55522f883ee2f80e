import { expect, test } from 'vitest'
import { readFunds } from '../../../src/core/ledger/prices.ts'
import { openScene, queries } from '../../support/scene.ts'

test('a forecast begins with the reported balance, as status does', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(30))
  const { credits_remaining: left } = await mill.drain()
  const { account: name, origin: kind } = mill.supplier
  expect(left).toBe(9_970)
  expect(await readFunds(mill.db, { name, kind })).toMatchObject({ remaining: left })
})
