// @module-tag slow
import { fc, test } from '@fast-check/vitest'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Database } from '../../../src/base/database/database.ts'
import { forgetSubject, sealList } from '../../../src/features/forget/forget.ts'
import { findHeldQueries, findLivingList } from '../../../src/features/forget/subject.ts'
import { verifyPromises } from '../../support/promises.ts'
import { startFaulty } from '../../faults/api/standin.ts'
import { type TestMill, testMill } from '../../support/mill.ts'
import { whereFound } from '../../support/sweep.ts'
import { seed } from '../expand/seed.ts'
import { moneyOf } from './scene.ts'

const lists = ['gnus', 'yaks']
const texts = ['quagga', 'okapi', 'axolotl', 'wombat']

let api: Awaited<ReturnType<typeof startFaulty>>
beforeAll(async () => {
  api = await startFaulty({ seed: 'histories', credits: 10_000, kind: 'live', cost: 1 })
})
afterAll(() => api.close())

type Step =
  | { readonly kind: 'read'; readonly list: string; readonly held: readonly string[] }
  | { readonly kind: 'list'; readonly list: string }
  | { readonly kind: 'query'; readonly q: string }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      list: fc.constantFrom(...lists),
      held: fc.subarray(texts, { minLength: 1 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('list' as const), list: fc.constantFrom(...lists) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('query' as const), q: fc.constantFrom(...texts) }),
  },
)

/** Lists that ever contained each text, and the number of its answers, while it is not forgotten. */
class Model {
  readonly #held = new Map<string, { lists: Set<string>; answers: number }>()

  read(list: string, held: readonly string[]): void {
    for (const q of held) {
      const known = this.#held.get(q) ?? { lists: new Set(), answers: 0 }
      known.lists.add(list)
      known.answers += 1
      this.#held.set(q, known)
    }
  }

  forgetList(list: string): void {
    for (const [q, known] of this.#held) {
      if (!known.lists.has(list)) continue
      known.lists.delete(list)
      // Tasks of its runs for queries in other lists remain, under a placeholder name.
      if (known.lists.size === 0) this.#held.delete(q)
    }
  }

  forgetQuery(q: string): void {
    this.#held.delete(q)
  }

  answers(q: string): number {
    return this.#held.get(q)?.answers ?? 0
  }
}

async function forgetStep(db: Database, taken: Step): Promise<void> {
  const tell = () => undefined
  if (taken.kind === 'list') {
    const list = await findLivingList(db, taken.list)
    if (list === null) return
    await forgetSubject(db, { kind: 'list', list }, tell)
    expect(await sealList(db, list)).toBe(true)
    expect(await whereFound(db, taken.list)).toEqual([])
  } else if (taken.kind === 'query') {
    const ids = (await findHeldQueries(db, taken.q)).map(({ id }) => id)
    await forgetSubject(db, { kind: 'query', q: taken.q, ids }, tell)
  }
}

async function take(mill: TestMill, model: Model, taken: Step): Promise<void> {
  if (taken.kind === 'read') {
    await seed(mill, taken.list, taken.held)
    return model.read(taken.list, taken.held)
  }
  const before = await moneyOf(mill.db)
  await forgetStep(mill.db, taken)
  if (taken.kind === 'list') model.forgetList(taken.list)
  else model.forgetQuery(taken.q)
  expect(await moneyOf(mill.db)).toEqual(before)
  const broken = (await verifyPromises(mill.db)).filter(({ ok }) => !ok)
  expect(broken).toEqual([])
}

async function expectAsModelled(db: Database, model: Model): Promise<void> {
  for (const q of texts) {
    const { rows } = await sql`
      select from searches s join queries on queries.id = s.query_id where queries.q = ${q}`.execute(
      db,
    )
    expect([q, rows.length]).toEqual([q, model.answers(q)])
    if (model.answers(q) === 0) expect(await whereFound(db, q)).toEqual([])
  }
}

test.prop([fc.array(step, { minLength: 4, maxLength: 6 })], { numRuns: 2 })(
  'whatever is read and forgotten in whatever order: what was forgotten is nowhere, all else is there, and every credit',
  async (steps) => {
    const mill = await testMill({ api })
    const model = new Model()
    try {
      for (const taken of steps) {
        await take(mill, model, taken)
        await expectAsModelled(mill.db, model)
      }
    } finally {
      await mill.close()
    }
  },
)
