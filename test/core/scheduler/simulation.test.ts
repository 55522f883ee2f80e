// @module-tag slow
import { describe, expect, test } from 'vitest'
import { localDate } from '../../../src/base/time/zone.ts'
import type { Schedule } from '../../../src/core/scheduler/schedule.ts'
import { scheduleOf, World } from './world.ts'

const minute = 60_000
const hour = 60 * minute
const start = new Date('2026-01-01T12:00:00Z')
const nights = 400
const end = new Date(start.getTime() + nights * 24 * hour)

// Every kind of clock change in use: an hour and half an hour, both hemispheres, at midnight, at the end of a day, at
// several hours of the night, twice a year around a month of fasting, and none.
const places = [
  ['Australia/Lord_Howe', '0 2 * * *'],
  ['Australia/Lord_Howe', '45 1 * * *'],
  ['Europe/Berlin', '30 2 * * *'],
  ['Europe/London', '30 1 * * *'],
  ['America/New_York', '30 2 * * *'],
  ['America/New_York', '15 1 * * *'],
  ['America/St_Johns', '0 2 * * *'],
  ['America/Scoresbysund', '30 23 * * *'],
  ['America/Nuuk', '30 22 * * *'],
  ['America/Santiago', '30 0 * * *'],
  ['Africa/Cairo', '0 0 * * *'],
  ['Africa/Casablanca', '30 2 * * *'],
  ['Asia/Beirut', '0 0 * * *'],
  ['Asia/Kolkata', '0 3 * * *'],
  ['Pacific/Auckland', '30 2 * * *'],
  ['Pacific/Chatham', '45 2 * * *'],
  ['UTC', '0 2 * * *'],
] as const

/** A small generator, so that every failure can be reproduced. */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

interface Expected {
  readonly at: number
  readonly date: string
}

const known = new Map<string, readonly Expected[]>()

/** Instants and local dates at which a time of day occurs in the simulated span, found without a cron parser. */
function expectedNights({ zone, cron }: Schedule): readonly Expected[] {
  const cached = known.get(`${zone} ${cron.pattern}`)
  if (cached !== undefined) return cached
  const [minutes = '0', hours = '0'] = cron.pattern.split(' ')
  const found: Expected[] = []
  for (let day = -2; day < nights + 3; day++) {
    const date = new Date(start.getTime() + day * 24 * hour).toISOString().slice(0, 10)
    const wall = `${date}T${hours.padStart(2, '0')}:${minutes.padStart(2, '0')}:00`
    const at = firstInstant(zone, wall)
    if (at > start.getTime() && at <= end.getTime()) found.push({ at, date })
  }
  known.set(`${zone} ${cron.pattern}`, found)
  return found
}

function expectedDates(schedule: Schedule): string[] {
  return expectedNights(schedule).map((night) => night.date)
}

/** Advances the clock minute by minute until it shows the wall time, or has skipped it. */
function firstInstant(zone: string, wall: string): number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const shows = (at: number) => format.format(at).replace(' ', 'T')
  let at = new Date(`${wall}Z`).getTime() - 15 * hour
  while (shows(at + hour) < wall) at += hour
  while (shows(at) < wall) at += minute
  return at
}

interface Weather {
  readonly outages: boolean
  readonly droughts: boolean
  readonly slow: boolean
}

/** Times of ticks: soon after every due time, and now and then in between. */
function moments(schedule: Schedule, roll: () => number): number[] {
  const found = expectedNights(schedule).map(({ at }) => at + roll() * 2 * minute)
  for (let at = start.getTime(); at < end.getTime(); at += roll() * 14 * hour) found.push(at)
  return found.toSorted((a, b) => a - b)
}

/** Simulates the nights: with restarts, absences, times without credits and slow runs, and no faults at the end. */
function live(schedule: Schedule, weather: Weather, seed: number): World {
  const world = new World(schedule, start)
  const roll = dice(seed)
  let away = 0
  let drought = 0
  for (const at of moments(schedule, roll)) {
    if (at < end.getTime() - 10 * 24 * hour) {
      if (weather.outages && roll() < 0.012) away = at + roll() * 80 * hour
      if (weather.droughts && roll() < 0.012) drought = at + roll() * 100 * hour
    }
    world.work(weather.slow && roll() < 0.05 ? 10 : 100, at < drought)
    if (at >= away) world.tick(new Date(at), roll() < 0.3 ? 2 : 1)
  }
  for (let rounds = 0; rounds < 20; rounds++) {
    world.work(1000)
    world.tick(end)
  }
  return world
}

const calm = { outages: false, droughts: false, slow: false }
const rough = { outages: true, droughts: true, slow: true }

const all = places.map(([zone, pattern], place) => ({ zone, pattern, place }))
/** The other zones make it slow. */
const few = 3

describe.each(all.slice(0, few))('400 nights in $zone at $pattern', (one) => {
  live400(one)
})
describe.each(all.slice(few))('400 nights in $zone at $pattern', { tags: ['slow'] }, (one) => {
  live400(one)
})

function live400({ zone, pattern, place }: (typeof all)[number]): void {
  test('every local date has one night, counted for that date', () => {
    const schedule = scheduleOf({ zone, pattern, overlap: 'queue' })
    const world = live(schedule, calm, 1)
    expect(world.rows().map((row) => row.date)).toEqual(expectedDates(schedule))
  })

  test('if every missed night is made up, each local date has one run, through periods without scheduler or credits', () => {
    const schedule = scheduleOf({ zone, pattern, missed: 'all', overlap: 'queue' })
    const world = live(schedule, rough, 2)
    const dates = expectedDates(schedule)
    expect(world.rows().map((row) => row.date)).toEqual(dates)
    expect(world.runs.map((run) => run.date)).toEqual(dates)
    expect(world.rows().every((row) => row.outcome === 'ran' || row.outcome === 'late')).toBe(true)
    expect(world.runs.some((run) => run.closed)).toBe(false)
  })

  // Each overlap rule in a third of the zones.
  const overlap = (['skip', 'queue', 'merge'] as const)[place % 3] ?? 'skip'

  test(`if only the latest counts and overlaps ${overlap}, each due time has one outcome and no date has two runs`, () => {
    const schedule = scheduleOf({ zone, pattern, missed: 'latest', overlap })
    const world = live(schedule, rough, 3)
    expect(world.rows().map((row) => row.date)).toEqual(expectedDates(schedule))
    expect(world.rows().every((row) => row.outcome !== null)).toBe(true)
    const dates = world.runs.map((run) => run.date)
    expect(new Set(dates).size).toBe(dates.length)
    expect(world.rows().filter((row) => row.run !== null).length).toBeGreaterThan(200)
  })

  test('a night recorded as missed created no run, if missed nights are skipped', () => {
    const schedule = scheduleOf({ zone, pattern, missed: 'skip', overlap: 'skip' })
    const world = live(schedule, rough, 4)
    const rows = world.rows()
    expect(rows.map((row) => row.date)).toEqual(expectedDates(schedule))
    expect(rows.some((row) => row.outcome === 'missed')).toBe(true)
    expect(rows.filter((row) => row.outcome === 'late')).toEqual([])
    for (const row of rows) expect(row.run === null).toBe(row.outcome !== 'ran')
  })
}

test('the simulated period contains every clock change of a year in each zone that has any', () => {
  const changes = places.map(([zone]) => {
    let count = 0
    for (let at = start.getTime(); at < end.getTime(); at += 24 * hour) {
      const noon = (time: number) =>
        new Intl.DateTimeFormat('sv-SE', { timeZone: zone, timeStyle: 'short' }).format(time)
      if (noon(at) !== noon(at + 24 * hour)) count++
    }
    return [zone, count, localDate(zone, start)] as const
  })
  const still = changes.filter(([, count]) => count === 0).map(([zone]) => zone)
  expect(still).toEqual(['Asia/Kolkata', 'UTC'])
  for (const [, count] of changes) expect([0, 2]).toContain(count)
})
