// @module-tag slow
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { freshDatabase } from '../../support/database.ts'
import { Story } from './story.ts'

// Every position of an answer has a different domain, out of a few, so that answers have much in common.
const serp = (depth: number) =>
  fc
    .shuffledSubarray(
      Array.from({ length: depth + 5 }, (_, index) => `d${index}.com/`),
      { minLength: depth, maxLength: depth },
    )
    .map((results) => results)

const history = fc.integer({ min: 2, max: 6 }).chain((depth) =>
  fc.record({
    depth: fc.constant(depth),
    weights: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
    nights: fc.array(fc.tuple(serp(depth), serp(depth)), { minLength: 2, maxLength: 4 }),
  }),
)

test('whatever the answers: shares add up, volatility stays within 0 and 1, and as many leave as enter', async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ depth, weights, nights }) => {
      const database = await freshDatabase()
      try {
        const ask = async (text: string) =>
          (await database.pool.query<Record<string, number>>(text)).rows
        const story = new Story(database.pool)
        story.says('q1', { weight: weights[0] }).says('q2', { weight: weights[1] })
        for (const [index, [q1, q2]] of nights.entries()) {
          await story.night(`2026-01-0${index + 1}`, { q1, q2 })
        }
        const whole = (
          await ask(`select sum(ctr) as ctr from ctr_curve where position <= ${depth}`)
        )[0]
        for (const { sum } of await ask(`select sum(share_of_voice) from analysis.share_of_voice
          where tag = '*' group by run_date`)) {
          expect(sum).toBeCloseTo(whole?.['ctr'] ?? Number.NaN, 9)
        }
        for (const { volatility } of await ask('select volatility from analysis.volatility')) {
          expect(volatility).toBeGreaterThanOrEqual(0)
          expect(volatility).toBeLessThanOrEqual(1)
        }
        for (const night of await ask(`select count(*) filter (where change = 'entered') as entered,
          count(*) filter (where change = 'left') as gone from analysis.movers group by run_date`)) {
          expect(night['entered']).toBe(night['gone'])
        }
        for (const night of await ask(
          'select entered, left_top_10, stayed, queries from analysis.churn',
        )) {
          expect(night['entered']).toBe(night['left_top_10'])
          expect((night['entered'] ?? 0) + (night['stayed'] ?? 0)).toBe(2 * depth)
        }
        for (const row of await ask(`select queries, from_1_to_3 + from_4_to_10 + from_11_to_20 + from_21
          + not_ranked as all_five from analysis.position_buckets`)) {
          expect(row['all_five']).toBe(row['queries'])
        }
        // The movers of a pair follow from the two rows of the history.
        expect(
          await ask(`select movers.* from analysis.movers
            join analysis.rank_history as now using (query_id, domain, run_date)
            join analysis.rank_history as before
              on before.query_id = movers.query_id and before.domain = movers.domain
              and before.run_date = movers.previous_run_date
            where now.position is distinct from movers.position
              or before.position is distinct from movers.previous_position`),
        ).toEqual([])
      } finally {
        await database.close()
      }
    }),
    { numRuns: 12 },
  )
})

test('the volatility of the same pages again is 0, of other pages 1, at every depth', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), async (depth) => {
      const database = await freshDatabase()
      try {
        const story = new Story(database.pool)
        const those = (letter: string) =>
          Array.from({ length: depth }, (_, index) => `${letter}${index}.com/`)
        await story.night('2026-01-01', { q: those('a') })
        await story.night('2026-01-02', { q: those('a') })
        await story.night('2026-01-03', { q: those('b') })
        const { rows } = await database.pool.query<{ volatility: number }>(
          'select volatility from analysis.volatility order by run_date',
        )
        expect(rows.map(({ volatility }) => volatility)).toEqual([0, 1])
      } finally {
        await database.close()
      }
    }),
    { numRuns: 5 },
  )
})
