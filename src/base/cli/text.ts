// Formats words, tables and lists for a terminal.

import { createRequire } from 'node:module'
import type TableOf from 'cli-table3'

const require = createRequire(import.meta.url)

interface TableOptions {
  /** Headings of numeric columns, which are right-aligned. */
  readonly right?: readonly string[]
  /** Maximum width of a cell, or null for no limit. Longer cells are truncated. */
  readonly widest?: number | null
}

type Cell = string | number | boolean | bigint | null | undefined

const borders = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
  ['', '-left', '-right', '-mid'].map((part) => side + part),
)

/** Characters between cells: no borders, and two spaces between columns. */
const plain = { ...Object.fromEntries(borders.map((border) => [border, ''])), middle: '  ' }

/** Formats rows as a plain-text table without colors or lines, so that it is easy to copy and search. */
export function formatTable(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  { right = [], widest = 60 }: TableOptions = {},
): string {
  // Loads the table library on first use, because the help has no tables.
  const Table = require('cli-table3') as typeof TableOf
  const table = new Table({
    head: [...heads],
    chars: plain,
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    colAligns: heads.map((head) => (right.includes(head) ? 'right' : 'left')),
  })
  for (const row of rows) table.push(row.map((cell) => shown(cell, widest)))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

// eslint-disable-next-line no-control-regex -- text from outside must not control the reader's terminal
const controls = /[\u0000-\u001f\u007f-\u009f]+/g

function shown(cell: Cell, widest: number | null): string {
  if (cell === null || cell === undefined) return ''
  const text = String(cell).replace(controls, ' ')
  return widest === null || text.length <= widest ? text : `${text.slice(0, widest - 1)}…`
}

const fewNames = 8

export function firstNames(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.slice(0, fewNames).join(', ') + (names.length > fewNames ? ', …' : '')
}

const grouping = new Intl.NumberFormat('en')

/** Formats a number for display: `12,345`. */
export function formatNumber(number: number): string {
  return grouping.format(number)
}

/** Formats a count with its noun: `1 line`, `1,234 lines`, `2 queries`, `3 searches`. */
export function count(number: number, noun: string): string {
  return `${formatNumber(number)} ${number === 1 ? noun : toPlural(noun)}`
}

function toPlural(noun: string): string {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`
  return /(?:s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`
}

/** Formats the numbers of charged refusals and answers to other queries; empty if both are zero. */
export function flawText(flaws: Readonly<Record<'paid_refusal' | 'other_query', number>>): string {
  const { paid_refusal: refused, other_query: other } = flaws
  const parts: string[] = []
  if (other > 0) parts.push(`${formatNumber(other)} for another query`)
  if (refused > 0) parts.push(`${formatNumber(refused)} refused by the API and charged`)
  return parts.join(', ')
}

export function typed(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** Formats a time span for people, rounded up. */
export function spanText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`
  if (seconds < 6_000) return `${Math.ceil(seconds / 60)} min`
  const minutes = Math.ceil(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
