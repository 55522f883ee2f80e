import { expect, test } from 'vitest'
import { formatTable } from '../../../src/base/cli/text.ts'

test('a table has a header row, then its rows, in columns of equal width', () => {
  expect(
    formatTable(
      ['name', 'count'],
      [
        ['apples', 5],
        ['figs', 12],
      ],
    ),
  ).toBe('name    count\napples  5\nfigs    12')
})

test('numbers are aligned right on request, and a missing value is an empty cell', () => {
  const text = formatTable(
    ['name', 'count'],
    [
      ['a', 5],
      ['b', null],
      ['c', 100],
    ],
    { right: ['count'] },
  )
  expect(text).toBe('name  count\na         5\nb\nc       100')
})

test('wide characters take two columns, so that later columns stay aligned', () => {
  const lines = formatTable(
    ['q', 'n'],
    [
      ['東京', 1],
      ['abcd', 2],
    ],
  ).split('\n')
  expect(lines[1]).toBe('東京  1')
  expect(lines[2]).toBe('abcd  2')
})

test('a cell that is too long is truncated with a mark, unless whole cells are requested', () => {
  expect(formatTable(['q'], [['x'.repeat(80)]])).toContain(`${'x'.repeat(59)}…`)
  expect(formatTable(['q'], [['x'.repeat(80)]], { widest: null })).toContain('x'.repeat(80))
})

test('escape sequences and line breaks in a cell never reach the terminal', () => {
  const text = formatTable(['q'], [['a\u001b[31mred\nnext\u009b']])
  expect(text.split('\n')).toHaveLength(2)
  expect(text).toContain('a [31mred next')
})
