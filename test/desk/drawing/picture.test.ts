import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import type { Html } from '../../../src/desk/drawing/html.ts'
import {
  drawPicture,
  drawSmall,
  figuresLink,
  type LineChart,
} from '../../../src/desk/drawing/lines.ts'

const chart: LineChart = {
  title: 'Share of voice, day by day',
  series: [],
  grain: 'day',
  width: 330,
  height: 130,
  range: [0, 100],
  format: String,
}

const at = (day: string, value: number | null) => ({ at: new Date(day), value })

/** The contents of a chart's CSV file, parsed independently. */
function read(drawn: Html): string[][] {
  const href = /href="data:text\/csv;charset=utf-8,([^"]*)"/.exec(drawn.text)?.[1] ?? ''
  return parse(decodeURIComponent(href.replaceAll('&#39;', "'")))
}

describe('the figures of a chart', () => {
  test('have a row for each day and a column for each line, with empty gaps and whole numbers', () => {
    const drawn = drawPicture({
      ...chart,
      series: [
        { name: 'a.com', points: [at('2026-01-01', 0.1234567890123), at('2026-01-02', null)] },
        { name: 'b.com', points: [at('2026-01-02', -3), at('2026-01-03', 1e-9)] },
      ],
    })
    expect(read(drawn)).toEqual([
      ['day', 'a.com', 'b.com'],
      ['2026-01-01', '0.1234567890123', ''],
      ['2026-01-02', '', '-3'],
      ['2026-01-03', '', '1e-9'],
    ])
  })

  test('keep two values of one instant, the first one first', () => {
    const now = '2026-01-01T10:00:00.000Z'
    const drawn = drawSmall({
      ...chart,
      grain: 'instant',
      series: [{ name: 'balance', points: [at(now, 900), at(now, 880)] }],
    })
    expect(read(drawn)).toEqual([
      ['at', 'balance'],
      [now, '900'],
      [now, '880'],
    ])
  })

  test('contain names as text that no spreadsheet evaluates, whatever their characters', () => {
    const names = ['=1+1', 'a,"b"\n', "it's 100 %", 'שלום', '\ud800']
    const rows = read(figuresLink('<b>&</b>', [names]))
    expect(rows).toEqual([["'=1+1", 'a,"b"\n', "it's 100 %", 'שלום', '\ufffd']])
  })

  test.each([
    ['Share of voice of us.com, day by day', 'share-of-voice-of-us-com-day-by-day.csv'],
    ['Places for «أحذية», day by day', 'places-for-أحذية-day-by-day.csv'],
    ['../..', 'figures.csv'],
    ['x'.repeat(200), `${'x'.repeat(80)}.csv`],
  ])('of %j are in a file that is named after it', (title, name) => {
    expect(figuresLink(title, []).text).toContain(`download="${name}"`)
  })
})
