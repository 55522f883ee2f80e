// @module-tag slow
import { expect, onTestFinished, test } from 'vitest'
import { endNights } from '../../src/features/alerts/find-alerts.ts'
import { listAlerts, replaceAlertRules } from '../../src/features/alerts/statements.ts'
import { seeded } from '../../src/service/random.ts'
import { type Answers, placed, Story, ten } from '../features/analysis/story.ts'
import { freshDatabase } from '../support/database.ts'

const seeds = Number(process.env['NIGHT_SEEDS'] ?? 1)
const words = Array.from({ length: 12 }, (_, nth) => `w${nth}x`)
const dateOf = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString().slice(0, 10)

type Random = () => number
const pick = (random: Random, many: number) => Math.floor(random() * many)

/** What is true of our place for each word, night by night: null where we are not among the first ten. */
class Truth {
  readonly days: (readonly (number | null)[])[] = [words.map(() => 4)]
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  turn(): void {
    const random = this.#random
    this.days.push(
      (this.days.at(-1) ?? []).map((place) => {
        if (place === null) return random() < 0.3 ? 1 + pick(random, 9) : null
        return random() < 0.05 ? null : Math.min(9, Math.max(1, place + pick(random, 3) - 1))
      }),
    )
  }

  answers(day: number): Answers {
    const places = this.days[day] ?? []
    return Object.fromEntries(
      words.map((word, nth) => {
        const place = places[nth] ?? null
        return [word, place === null ? ten(word) : placed(ten(word), place, 'ours.com/')]
      }),
    )
  }
}

const forAll = (answer: (word: string) => string[] | 'failed') =>
  Object.fromEntries(words.map((word) => [word, answer(word)]))

/** Bad nights: what the API says instead of the truth. */
const faults: readonly ((truth: Truth, day: number, random: Random) => Answers)[] = [
  () => forAll(() => ten('casino')),
  () => forAll((word) => ten(`${word}abroad`)),
  () => forAll(() => []),
  () => forAll((word) => ten(word).slice(0, 2)),
  (truth, day, random) => ({
    ...truth.answers(day),
    ...Object.fromEntries(words.slice(pick(random, 3) + 6).map((word) => [word, 'failed'])),
    ...Object.fromEntries(words.slice(0, 5).map((word) => [word, 'failed'])),
  }),
  (truth, day, random) =>
    Object.fromEntries(
      Object.entries(truth.answers(day)).map(([word, pages]) => [
        word,
        Array.isArray(pages)
          ? pages
              .map((page) => ({ page, key: random() }))
              .toSorted((a, b) => a.key - b.key)
              .map(({ page }) => page)
          : pages,
      ]),
    ),
]

interface Rates {
  bad: number
  found: number
  good: number
  condemned: number
  alerts: number
  false: number
  missed: number
}

async function live(seed: string, rates: Rates): Promise<void> {
  const database = await freshDatabase()
  onTestFinished(() => database.close())
  await database.pool.query("insert into own_domains (domain, label) values ('ours.com', 'Ours')")
  await replaceAlertRules(database.db, [
    {
      ...{ name: 'lost', what: 'left', threshold: null, direction: null, list: null, tag: null },
      ...{ domain: null, rival: null, feature: null, confirm: 1 },
    },
  ])
  const story = new Story(database.pool)
  const random = seeded(seed)
  const truth = new Truth(random)
  const expected = new Set<string>()
  let before = 0
  for (let day = 1; day <= 30; day++) {
    truth.turn()
    const fault = day > 6 && random() < 1 / 3 ? faults[pick(random, faults.length)] : undefined
    await story.night(dateOf(day), fault?.(truth, day, random) ?? truth.answers(day))
    await database.pool.query(
      'update runs set finished_at = clock_timestamp() where id = (select max(id) from runs)',
    )
    await endNights({ db: database.db, databaseUrl: database.url }, () => undefined)
    const { rows } = await database.pool.query('select suspect from runs order by id desc limit 1')
    const isFound = rows[0].suspect === true
    if (fault !== undefined) {
      rates.bad += 1
      if (isFound) rates.found += 1
      continue
    }
    rates.good += 1
    if (isFound) rates.condemned += 1
    for (const [nth, word] of words.entries()) {
      const left = truth.days[before]?.[nth] !== null && truth.days[day]?.[nth] === null
      if (before > 0 && left) expected.add(`${dateOf(day)} ${word}`)
    }
    before = day
  }
  const all = await listAlerts(database.db, { id: null, rule: null, standing: false, limit: 999 })
  const raised = all.map(({ run_date: date, q }) => `${date} ${q}`)
  rates.alerts += raised.length
  rates.false += raised.filter((one) => !expected.has(one)).length
  rates.missed += [...expected].filter((one) => !raised.includes(one)).length
}

test(`thirty nights with bad ones among them raise the alerts that are true, and no others (${seeds} seeds)`, async () => {
  const rates: Rates = {
    ...{ bad: 0, found: 0, good: 0, condemned: 0, alerts: 0, false: 0, missed: 0 },
  }
  for (let seed = 1; seed <= seeds; seed++) await live(`alerts ${seed}`, rates)
  process.stderr.write(`${JSON.stringify(rates)}\n`)
  expect(rates.found / rates.bad).toBeGreaterThanOrEqual(0.95)
  expect(rates.condemned / rates.good).toBeLessThanOrEqual(0.01)
  expect(rates.alerts).toBeGreaterThan(0)
  expect(rates.false / rates.alerts).toBeLessThanOrEqual(0.02)
  expect(rates.missed).toBe(0)
})
