import { expect, test } from 'vitest'
import { type BarChart, drawBars } from '../../../src/desk/drawing/bars.ts'

const chart: BarChart = {
  title: 'What each round brought',
  kind: 'round',
  series: ['pages', 'domains'],
  groups: [
    { name: 'round 1', values: [20, 10] },
    { name: 'round 2', values: [5, null] },
  ],
  format: String,
}

/** Bottom and height of each bar. */
function barsOf(text: string) {
  return [
    ...text.matchAll(/<title>([^<]*)<\/title\s*><rect\s[^>]*y="([\d.]+)"[^>]*height="([\d.]+)"/g),
  ].map(([, name, y, height]) => ({
    name,
    bottom: Number(y) + Number(height),
    height: Number(height),
  }))
}

test('bars start on one line, as high as their values, and unknown values have none', () => {
  const bars = barsOf(drawBars(chart).text)
  expect(bars.map(({ name }) => name)).toEqual([
    'round 1, pages: 20',
    'round 1, domains: 10',
    'round 2, pages: 5',
  ])
  const [whole, half, quarter] = bars.map(({ height }) => height)
  expect(half).toBeCloseTo((whole ?? 0) / 2, 0)
  expect(quarter).toBeCloseTo((whole ?? 0) / 4, 0)
  expect(new Set(bars.map(({ bottom }) => Math.round(bottom))).size).toBe(1)
})

test('bars come with their figures, empty for unknown values', () => {
  const href = /href="data:text\/csv;charset=utf-8,([^"]*)"/.exec(drawBars(chart).text)?.[1] ?? ''
  expect(decodeURIComponent(href).split(/\r?\n/).slice(0, 3)).toEqual([
    'round,pages,domains',
    'round 1,20,10',
    'round 2,5,',
  ])
})

test('bars that are all zero are drawn anyway, and names are escaped', () => {
  const text = drawBars({
    ...chart,
    series: ['<b>'],
    groups: [{ name: '<i>', values: [0] }],
  }).text
  expect(text).not.toContain('<b>')
  expect(text).not.toContain('<i>')
  expect(barsOf(text)).toMatchObject([{ height: 0 }])
})
