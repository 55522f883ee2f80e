// @module-tag slow
import { sql } from 'kysely'
import { afterEach, expect, test, vi } from 'vitest'
import { openScene, queries } from '../../support/scene.ts'

afterEach(() => {
  vi.useRealTimers()
})

const day = 86_400_000

test.each([
  ['back', -day],
  ['forth', day],
])(
  'a clock set %s by a day in the middle of a run makes no answer look older or newer',
  async (_way, step) => {
    const { api, mill } = await openScene()
    const list = queries(20)
    await mill.plan(list, { maxAgeMs: day / 24, list: 'first' })
    const at = (point: string) => {
      if (point !== 'reserved' || vi.isFakeTimers()) return
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + step })
    }
    await mill.drain({ at })
    vi.useRealTimers()
    expect(await mill.states()).toEqual({ answered: 20 })
    const { rows } = await sql`
    select
    from searches s
    join calls c on c.id = s.call_id
    join raw_answers r on r.call_id = s.call_id
    where s.fetched_at <> r.received_at or s.fetched_at not between c.sent_at and c.finished_at`.execute(
      mill.db,
    )
    expect(rows).toHaveLength(0)

    await mill.plan(list, { maxAgeMs: day / 24, list: 'second' })
    await mill.drain()
    expect(await mill.states()).toEqual({ answered: 20, reused: 20 })
    expect(api.charges()).toHaveLength(20)
  },
)
