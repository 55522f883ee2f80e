// @module-tag slow
import { describe, expect, test } from 'vitest'
import type { RunAnswer } from '../../../src/core/nights/evidence.ts'
import type { JudgedNight, NightFigures } from '../../../src/core/nights/health.ts'
import { judgementOf, judgeRun } from '../../../src/core/nights/judge.ts'
import { seeded } from '../../../src/base/random.ts'
import { type Answers, faults, harmless, pick, type Told, World } from '../../support/bad-nights.ts'

const nights = 30
const seeds = Number(process.env['NIGHT_SEEDS'] ?? 4)

interface Sums {
  bad: number
  found: number
  good: number
  condemned: number
  doubted: number
  /** Slow or expensive nights that were not reported. */
  silent: number
  unnoticed: string[]
}

/** Simulates thirty nights of one list; after the tenth, each night is bad with a probability of one in three. */
function live(seed: string, [queries, restless]: readonly [number, number], sums: Sums): void {
  const random = seeded(seed)
  const world = new World(random, queries, restless)
  const told: { day: number; pages: Answers; trusted: boolean }[] = []
  const usual: NightFigures[] = []
  const last: NightFigures[] = []
  for (let day = 1; day <= nights; day++) {
    world.turn()
    const names = Object.keys(faults)
    const fault = day > 10 && random() < 1 / 3 ? (names[pick(random, names.length)] ?? null) : null
    const honest: Told = {
      answers: world.truth.map((pages) =>
        random() < 0.02 ? null : random() < 0.01 ? [] : [...pages],
      ),
    }
    const {
      answers,
      hours = 0.3,
      price = 1,
      unreadable = 0,
    } = fault === null ? honest : (faults[fault]?.(world, random) ?? honest)
    const full = answers.filter((pages) => pages !== null)
    const deep = full.filter((pages) => pages.length > 0)
    const figures: JudgedNight = {
      ...{ run_id: day, asked: queries, answered: full.length, empty: full.length - deep.length },
      ...{ unreadable, paid_refusal: 0, other_query: unreadable, workers: 1, paused_minutes: 0 },
      depth:
        deep.length === 0 ? null : deep.reduce((sum, { length }) => sum + length, 0) / deep.length,
      ...{ price, minutes: hours * 60 * (0.8 + random() / 2) },
    }
    const asked = answers.flatMap((pages, query): RunAnswer[] => {
      if (pages === null || pages.length === 0) return []
      const earlier = told
        .flatMap((one) => {
          const before = one.pages[query] ?? []
          return before.length === 0 ? [] : [{ ...one, pages: before.slice(0, 10) }]
        })
        .toReversed()
        .slice(0, 12)
      const own = { search_id: day * 1000 + query, q: `query ${query}`, foreign: null }
      return [{ ...own, pages: pages.slice(0, 10), earlier }]
    })
    const judged = judgeRun(figures, asked, { usual: usual.slice(0, 14), last: last.slice(0, 2) })
    const { reasons, remarks, usualFrom } = judgementOf(judged.night, judged.findings)
    const isBad = fault !== null && !harmless.includes(fault)
    const isFound = reasons.length > 0
    if (isBad) {
      sums.bad += 1
      if (isFound) sums.found += 1
      else sums.unnoticed.push(`${seed} night ${day}: ${fault}`)
    } else {
      sums.good += 1
      sums.doubted += judged.doubts.length
      if (isFound) {
        sums.condemned += 1
        sums.unnoticed.push(`${seed} night ${day} was good: ${reasons.join('; ')}`)
      }
      if (fault !== null && !/hours|credits/.test(remarks.join())) sums.silent += 1
    }
    told.push({ day, pages: answers, trusted: !isFound })
    last.unshift(judged.night)
    if (usualFrom !== null) usual.splice(0, usual.length, judged.night)
    else if (reasons.length + remarks.length === 0) usual.unshift(judged.night)
  }
}

describe('thirty nights, some of them bad', () => {
  const lists = { shop: [120, 0.4], small: [12, 0.5], news: [30, 0.95], calm: [60, 0.1] } as const
  test(`have at least 95 % of the bad ones quarantined, and at most 1 % of the good ones (${seeds} seeds)`, () => {
    const sums: Sums = {
      bad: 0,
      found: 0,
      good: 0,
      condemned: 0,
      doubted: 0,
      silent: 0,
      unnoticed: [],
    }
    for (let seed = 1; seed <= seeds; seed++) {
      for (const [name, list] of Object.entries(lists)) {
        live(`${name} ${seed}`, list, sums)
      }
    }
    const { bad, found, good, condemned, doubted, silent, unnoticed } = sums
    process.stderr.write(
      `${found} of ${bad} bad runs quarantined, ${condemned} of ${good} good ones, ${doubted} answers of good ones, ${silent} told nothing\n${unnoticed.join('\n')}\n`,
    )
    expect(bad).toBeGreaterThan(seeds * 10)
    expect(found / bad).toBeGreaterThanOrEqual(0.95)
    expect(condemned / good).toBeLessThanOrEqual(0.01)
    expect(doubted).toBe(0)
  })
})
