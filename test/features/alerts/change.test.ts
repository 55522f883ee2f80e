// @module-tag slow
import { fc } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  decideAlert,
  type Measurement,
  type StandingAlert,
  type WatchedFor,
} from '../../../src/features/alerts/changes.ts'

const plain: Measurement = {
  ...{ position: null, depth: 10, rival: null, flag: null, share: null, queries: 0 },
}

/** A position in an answer of ten results; null if not in it. */
const at = (position: number | null, depth = 10): Measurement => ({ ...plain, position, depth })
const against = (position: number | null, rival: number | null): Measurement => ({
  ...at(position),
  rival,
})
const flagged = (flag: boolean | null): Measurement => ({ ...plain, flag })
const shared = (share: number | null, queries = 100, depth = 10): Measurement => ({
  ...{ ...plain, share, queries, depth },
})

const watched = (what: WatchedFor['what'], more: Partial<WatchedFor> = {}): WatchedFor => ({
  ...{ what, threshold: null, direction: null, confirm: 1, ...more },
})

/** Evaluates answer after answer; returns what happened at which answer. */
function live(rule: WatchedFor, series: readonly Measurement[]) {
  const events: { night: number; kind: 'raise' | 'recover'; base?: number; way?: string }[] = []
  let standing: StandingAlert | null = null
  let since = 0
  for (let night = 0; night < series.length; night += 1) {
    const seen = series.slice(since, night + 1)
    const step = decideAlert(rule, seen, standing)
    const now = seen.at(-1)
    if (step.kind === 'none' || now === undefined) continue
    if (step.kind === 'recover') {
      events.push({ night, kind: 'recover' })
      standing = null
      since = night
      continue
    }
    const base = seen[step.base]
    if (base === undefined) throw new Error('expected a base among the answers')
    standing = { base, raised: now, way: step.way }
    const way = step.way === null ? {} : { way: step.way }
    events.push({ night, kind: 'raise', base: since + step.base, ...way })
  }
  return events
}

const shallow = at(null, 3)
const raise = (night: number, base: number, way?: string) => ({
  ...{ night, kind: 'raise', base },
  ...(way === undefined ? {} : { way }),
})
const recover = (night: number) => ({ night, kind: 'recover' })

describe('an alert', () => {
  test.each<[string, WatchedFor, Measurement[], object[]]>([
    [
      'a domain that left and came back',
      watched('left'),
      [at(4), at(null), at(null), at(6)],
      [raise(1, 0), recover(3)],
    ],
    [
      'one that left while an answer was too shallow to tell',
      watched('left'),
      [at(8), shallow, shallow, at(null)],
      [raise(3, 0)],
    ],
    [
      'one that is gone from shallow answers alone',
      watched('left'),
      [at(8), shallow, shallow, at(8)],
      [],
    ],
    [
      'one that entered, and went again',
      watched('entered'),
      [at(null), at(7), at(2), shallow, at(null)],
      [raise(1, 0), recover(4)],
    ],
    [
      'one below the end of the older answer, which may have been there before',
      watched('entered'),
      [shallow, at(7)],
      [],
    ],
    [
      'a fall by three places, and the way back',
      watched('moved', { threshold: 3 }),
      [at(5), at(7), at(10), at(11), at(9)],
      [raise(2, 1, 'down'), recover(4)],
    ],
    [
      'a rise, where falls alone are wanted',
      watched('moved', { threshold: 3, direction: 'down' }),
      [at(9), at(2)],
      [],
    ],
    [
      'a fall out of the answer, which is one to the place below its end at least',
      watched('moved', { threshold: 3 }),
      [at(8), at(null), at(8), at(9), at(null)],
      [raise(1, 0, 'down'), recover(2)],
    ],
    [
      'a rise from below the end of the answer',
      watched('moved', { threshold: 3 }),
      [at(null), at(8), at(null)],
      [raise(1, 0, 'up'), recover(2)],
    ],
    [
      'the end of the first three, crossed down and up',
      watched('crossed', { threshold: 3 }),
      [at(2), at(4), at(5), at(3), at(3), at(9)],
      [raise(1, 0, 'down'), recover(3), raise(5, 4, 'down')],
    ],
    [
      'the top 10 left in an answer of eight results, deep enough to have shown the old place',
      watched('crossed', { threshold: 10, direction: 'down' }),
      [at(4, 8), at(null, 8)],
      [raise(1, 0, 'down')],
    ],
    [
      'a rival that passed, and fell behind again',
      watched('rival_passed'),
      [against(3, 5), against(3, 2), against(null, 2), against(null, null), against(3, 7)],
      [raise(1, 0), recover(4)],
    ],
    [
      'a rival that was ahead from the beginning',
      watched('rival_passed'),
      [against(5, 3), against(5, 2)],
      [],
    ],
    [
      'a feature that came, was not to be seen in an empty answer, and went',
      watched('new_feature'),
      [flagged(false), flagged(true), flagged(null), flagged(false)],
      [raise(1, 0), recover(3)],
    ],
    [
      'a wrong page, confirmed twice',
      watched('wrong_page', { confirm: 2 }),
      [flagged(false), flagged(true), flagged(false), flagged(true), flagged(null), flagged(true)],
      [raise(5, 2)],
    ],
    [
      'a share that fell by a fifth, and recovered',
      watched('share_fell', { threshold: 20 }),
      [shared(0.5), shared(0.41), shared(0.3), shared(0.31), shared(0.4)],
      [raise(2, 1), recover(4)],
    ],
    [
      'a share of a day on which half as much was asked, or half as deep',
      watched('share_fell', { threshold: 20 }),
      [shared(0.5), shared(0.1, 50), shared(0.1, 100, 5), shared(0.5)],
      [],
    ],
  ])('of %s is raised and recovers exactly when it ought to', (...told) => {
    const [, rule, series, events] = told
    expect(live(rule, series)).toEqual(events)
  })

  test('for a change before the rule existed is not raised later', () => {
    const seen = [at(4), at(null), at(null)]
    expect(decideAlert(watched('left'), seen, null)).toEqual({ kind: 'none' })
    expect(decideAlert(watched('left', { confirm: 2 }), seen, null)).toMatchObject({ base: 0 })
  })
})

const positions = fc.option(fc.integer({ min: 1, max: 12 }), { nil: null })
const measurements = fc.array(
  fc.record({ position: positions, rival: positions }).map(({ position, rival }) => ({
    ...at(position, 12),
    rival,
  })),
  { minLength: 1, maxLength: 12 },
)
const rules = fc.record({
  what: fc.constantFrom('entered', 'left', 'moved', 'crossed', 'rival_passed' as const),
  threshold: fc.integer({ min: 1, max: 6 }),
  direction: fc.constantFrom('up', 'down', null),
  confirm: fc.integer({ min: 1, max: 3 }),
})

describe('any series of answers', () => {
  test('raises alerts and recoveries alternately', () => {
    const inTurns = fc.property(rules, measurements, (rule, series) => {
      const kinds = live(rule, series).map(({ kind }) => kind)
      expect(kinds).toEqual(kinds.map((_, index) => (index % 2 === 0 ? 'raise' : 'recover')))
    })
    fc.assert(inTurns, { numRuns: 500 })
  })

  test('raises the same alerts if inconclusive answers lie between', () => {
    const gapped = fc.property(
      ...([rules, measurements, fc.array(fc.nat({ max: 12 }), { maxLength: 4 })] as const),
      (rule, series, gaps) => {
        const untelling = at(null, 0)
        const wide = series.flatMap((one, index) => {
          const many = gaps.filter((gap) => gap === index).length
          return [...Array.from({ length: many }, () => untelling), one]
        })
        const places = wide.flatMap((one, index) => (one === untelling ? [] : [index]))
        const expected = live(rule, series).map((event) => ({
          ...event,
          night: places[event.night],
          ...(event.base === undefined ? {} : { base: places[event.base] }),
        }))
        expect(live(rule, wide)).toEqual(expected)
      },
    )
    fc.assert(gapped, { numRuns: 500 })
  })

  test('agrees with a separate calculation about a domain that left', () => {
    const counted = fc.property(measurements, (series) => {
      const expected: { night: number; kind: string }[] = []
      let gone = false
      for (let night = 1; night < series.length; night += 1) {
        const [before, now] = [series[night - 1]?.position, series[night]?.position]
        if (!gone && before !== null && now === null) expected.push({ night, kind: 'raise' })
        if (gone && now !== null) expected.push({ night, kind: 'recover' })
        if (now === null && before !== null) gone = true
        if (now !== null) gone = false
      }
      const events = live(watched('left'), series).map(({ night, kind }) => ({ night, kind }))
      expect(events).toEqual(expected)
    })
    fc.assert(counted, { numRuns: 500 })
  })

  test('reports a move only between two answers that are so far apart', () => {
    const moves = fc.property(measurements, fc.integer({ min: 1, max: 6 }), (series, threshold) => {
      for (const { night, base = 0, way } of live(watched('moved', { threshold }), series)) {
        if (way === undefined) continue
        const [from, to] = [series[base]?.position ?? 13, series[night]?.position ?? 13]
        expect(way === 'down' ? to - from : from - to).toBeGreaterThanOrEqual(threshold)
      }
    })
    fc.assert(moves, { numRuns: 500 })
  })
})
