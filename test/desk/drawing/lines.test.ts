import { describe, expect, test } from 'vitest'
import { type LineChart, lineChart, type Series } from '../../../src/desk/drawing/lines.ts'

function draw(chart: Partial<LineChart>): string {
  return lineChart({
    title: 'a picture',
    series: [],
    grain: 'day',
    width: 330,
    height: 130,
    range: [0, 100],
    format: String,
    ...chart,
  }).text
}

const line = (name: string, ...ats: string[]): Series => {
  return { name, points: ats.map((at) => ({ at: new Date(at), value: 100 })) }
}

interface Word {
  readonly text: string
  readonly x: number
  readonly y: number
}

/** Texts of one kind with their coordinates. */
function words(picture: string, kind: RegExp): Word[] {
  return [...picture.matchAll(/<text([^>]*)>([^<]*)<\/text\s*>/gs)]
    .filter(([, attributes = '']) => kind.test(attributes))
    .map(([, attributes = '', text = '']) => {
      const number = (name: string) =>
        Number(new RegExp(`\\b${name}="([^"]+)"`).exec(attributes)?.[1])
      return { text: text.trim(), x: number('x'), y: number('y') }
    })
}

const times = (chart: Partial<LineChart>) => words(draw(chart), /tick time/)
const textsOf = (chart: Partial<LineChart>) => times(chart).map(({ text }) => text)

describe('the time axis of a chart', () => {
  test.each([
    [['2026-11-21'], ['21 Nov']],
    [
      ['2026-11-20', '2026-11-21'],
      ['20 Nov', '21 Nov'],
    ],
    [
      ['2026-11-19', '2026-11-20', '2026-11-21'],
      ['19 Nov', '20 Nov', '21 Nov'],
    ],
  ])('shows days for days, however few: %j', (days, labels) => {
    for (const width of [330, 1040]) {
      expect(textsOf({ series: [line('a', ...days)], width })).toEqual(labels)
    }
  })

  test('with many days stays within the chart to its last letter', () => {
    for (let day = 1; day <= 28; day++) {
      const last = `2026-11-${String(day).padStart(2, '0')}`
      const labels = times({ series: [line('a', '2026-10-01', last)] })
      expect(labels.length).toBeGreaterThan(0)
      for (const { x, text } of labels) {
        expect(x + text.length * 3.2).toBeLessThanOrEqual(330)
      }
    }
  })

  test('has its label below the named point', () => {
    const [one] = times({ series: [line('a', '2026-11-21')] })
    const point = /<circle cx="([\d.]+)"/.exec(draw({ series: [line('a', '2026-11-21')] }))?.[1]
    expect(one?.x).toBe(Number(point))
    // The middle of the space between the scale and the edge.
    expect(one?.x).toBe((48 + 318) / 2)
  })

  test.each([
    ['less than a second', '2026-11-21T20:25:59.100Z', '2026-11-21T20:25:59.900Z'],
    ['a few seconds', '2026-11-21T20:25:59.100Z', '2026-11-21T20:26:02.700Z'],
    ['a minute', '2026-11-21T20:25:30Z', '2026-11-21T20:26:30Z'],
    ['hours', '2026-11-21T20:00:00Z', '2026-11-22T03:00:00Z'],
    ['two days and a half', '2026-11-21T06:00:00Z', '2026-11-23T20:00:00Z'],
    ['a month', '2026-11-01T06:00:00Z', '2026-12-01T20:00:00Z'],
    ['years', '2023-03-01T06:00:00Z', '2026-12-01T20:00:00Z'],
    ['no time at all', '2026-11-21T20:25:30Z', '2026-11-21T20:25:30Z'],
  ])('of instants within %s repeats no label', (_, first, last) => {
    for (const width of [330, 1040]) {
      const texts = textsOf({ series: [line('a', first, last)], grain: 'instant', width })
      expect(texts.length).toBeGreaterThan(0)
      expect(texts.filter((text, index) => text === texts[index - 1])).toEqual([])
    }
  })

  test('of instants has exact labels', () => {
    const within = (first: string, last: string) =>
      textsOf({ series: [line('a', first, last)], grain: 'instant' })
    expect(within('2026-11-21T20:25:35.100Z', '2026-11-21T20:25:36.900Z')).toEqual(['20:25:36'])
    expect(within('2026-11-21T20:25:00Z', '2026-11-21T20:35:00Z')).toEqual([
      '20:25',
      '20:30',
      '20:35',
    ])
  })

  test('names the day on which the clock starts again', () => {
    const series = [line('a', '2026-11-21T20:00:00Z', '2026-11-22T03:00:00Z')]
    const texts = textsOf({ series, grain: 'instant', width: 1040 })
    expect(texts).toContain('21:00')
    expect(texts).toContain('22 Nov')
    expect(texts).not.toContain('00:00')
  })
})

describe('names beside lines', () => {
  const named = (count: number, height: number) => {
    const series = Array.from({ length: count }, (_, index) => line(`n${index}`, '2026-11-21'))
    return words(draw({ series, named: true, height }), /class="name/).map(({ y }) => y)
  }

  test('keep apart and stay within the chart if all lines end at its top', () => {
    const ys = named(5, 240).toSorted((a, b) => a - b)
    expect(ys[0]).toBe(12)
    for (const [index, y] of ys.entries()) expect(y - (ys[index - 1] ?? -2)).toBe(14)
  })

  test('are closer, but within the chart, if there are too many', () => {
    for (const y of named(40, 240)) {
      expect(y).toBeGreaterThanOrEqual(12)
      expect(y).toBeLessThanOrEqual(214)
    }
  })
})

describe('days that a chart leaves out', () => {
  const bandsIn = (picture: string) =>
    [
      ...picture.matchAll(
        /<rect\s+class="band"\s+x="([^"]+)"\s+y="([^"]+)"\s+width="([^"]+)"[^>]*>\s*<title>([^<]*)/g,
      ),
    ].map(([, x, , width, name]) => ({ from: Number(x), to: Number(x) + Number(width), name }))
  const band = (day: string) => ({ at: new Date(day), name: `${day} is suspect` })

  test('are shaded from noon to noon, behind the lines, and give the reason', () => {
    const series = [line('a', '2026-01-01', '2026-01-03', '2026-01-11')]
    const picture = draw({ series, bands: [band('2026-01-02'), band('2026-01-11')] })
    const found = bandsIn(picture)
    expect(found).toMatchObject([
      { name: '2026-01-02 is suspect' },
      { name: '2026-01-11 is suspect' },
    ])
    const [second, last] = found
    expect((second?.from ?? 0) - 48).toBeCloseTo(27 / 2, 0)
    expect((second?.to ?? 0) - (second?.from ?? 0)).toBeCloseTo(27, 0)
    expect(last?.to).toBe(318)
    expect(picture.indexOf('class="band"')).toBeLessThan(picture.indexOf('<path'))
  })

  test('after the last point are shown as well, and those before the first are not', () => {
    const series = [line('a', '2026-01-05', '2026-01-09')]
    const picture = draw({ series, bands: [band('2025-12-01'), band('2026-01-10')] })
    expect(bandsIn(picture)).toMatchObject([{ name: '2026-01-10 is suspect', to: 318 }])
  })

  test('are visible over a long period, too', () => {
    const series = [line('a', '2024-01-01', '2026-01-09')]
    const [found] = bandsIn(draw({ series, bands: [band('2025-01-01')] }))
    expect((found?.to ?? 0) - (found?.from ?? 0)).toBeCloseTo(3, 1)
  })
})
