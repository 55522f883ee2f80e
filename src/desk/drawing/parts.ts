// Page components: sections, tables, lists, numbers, badges.

import { formatMinute } from '../../base/time/zone.ts'
import type { Variant } from '../../features/analysis/query-facts.ts'
import { Html, html, numberText } from './html.ts'

type Content = Html | string | number | null | readonly (Html | string)[]

const fixed = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

/** Formats a number for people: `12,345`. An unknown value is a dash, with a label for screen readers. */
export function amount(value: number | null): Html {
  return value === null ? unknown : html`${numberText(value)}`
}

/** Formats a fraction as a percentage. */
export function percent(share: number | null): Html {
  return share === null ? unknown : html`${fixed.format(share * 100)} %`
}

/** Dash for an unknown or missing value. */
export const unknown: Html = html`<span class="none" aria-label="unknown">–</span>`

/** A number that a test or a person can find by its name in `status -- --json`. */
export function figure(name: string, value: number | null): Html {
  return html`<span data-figure="${name}" data-value="${value ?? ''}">${amount(value)}</span>`
}

/** Says how many credits are held for calls with an unknown outcome, if any. */
export function uncertainNote({ uncertain }: { readonly uncertain: number }): Html | null {
  return uncertain === 0 ? null : html` <span class="soft">+ ${amount(uncertain)} uncertain</span>`
}

/** An instant in a zone, to the minute, with the exact value for programs. */
export function instant(at: Date | string | null, zone: string): Html {
  if (at === null) return unknown
  const date = typeof at === 'string' ? new Date(at) : at
  return html`<time datetime="${date.toISOString()}" title="${date.toISOString()}"
    >${formatMinute(zone, date)}</time
  >`
}

/** Text from a list or an answer: it may be long, and has its own text direction. */
export function given(text: string | null): Html {
  return text === null ? unknown : html`<span class="given" dir="auto">${text}</span>`
}

export function command(line: string): Html {
  return html`<code class="command" data-copy>${line}</code>`
}

/** A link within the desk; if null, as in a file without a desk, just its text. */
export function to(href: string | null, text: Html | string | number): Html {
  if (href === null) return html`${text}`
  return html`<a href="${href}">${text}</a>`
}

/** A section with its heading; the id makes it linkable. */
export function section(
  { id, title, about }: { id: string; title: Html | string; about?: Html | string },
  body: Content,
): Html {
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${about === undefined ? null : html`<p class="soft">${about}</p>`} ${body}
  </section>`
}

export interface Column<Row> {
  readonly head: string
  /** If set, the heading is a link that sorts. */
  readonly sorting?: {
    readonly href: string | null
    readonly order: 'ascending' | 'descending' | null
  }
  readonly cell: (row: Row) => Content
  /** If true, values are aligned right. */
  readonly number?: true
  readonly word?: true
}

// With one column more than these, a phone shows all: a way to unfold them would take as much space.
const phoneColumns = 4

/**
 * A table that scrolls horizontally if it is too wide. On a phone, each row is a card with the first columns, and the
 * others unfold.
 */
export function table<Row>(
  name: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  const folds = columns.length > phoneColumns + 1
  const kind = ({ number, word }: Column<Row>, index: number) => {
    const names = [
      ...(number === true ? ['n'] : word === true ? ['word'] : []),
      ...(folds && index >= phoneColumns ? ['rest'] : []),
    ]
    return names.length === 0 ? null : new Html(` class="${names.join(' ')}"`)
  }
  const unfold = html`<details class="unfold"><summary>All columns of ${name}</summary></details>`
  return html`${folds ? unfold : null}
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table>
        <thead>
          <tr>
            ${columns.map((column, index) => html`<th scope="col" ${kind(column, index)}${orderOf(column)}>${headOf(column)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) =>
              html`<tr>
                ${columns.map((column, index) => html`<td${kind(column, index)} data-head="${column.head}">${column.cell(row)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`
}

function orderOf<Row>({ sorting }: Column<Row>): Html | null {
  if (sorting === undefined || sorting.order === null) return null
  return html` aria-sort="${sorting.order}"`
}

function headOf<Row>({ head, sorting }: Column<Row>): Html {
  if (sorting === undefined) return html`${head}`
  const sign = { ascending: ' ▲', descending: ' ▼', none: '' }[sorting.order ?? 'none']
  return html`${to(sorting.href, head)}<span aria-hidden="true">${sign}</span>`
}

/** A section with a table; without rows, it explains what would be there and which command to type. */
export function tableSection<Row>(
  {
    empty,
    name,
    ...heading
  }: {
    readonly id: string
    readonly title: Html | string
    readonly about?: Html | string
    /** Name of the table; by default, the title. */
    readonly name?: string
    readonly empty: string | readonly [text: string, line: string]
  },
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  const [text, line] = typeof empty === 'string' ? [empty, null] : empty
  const called = name ?? (typeof heading.title === 'string' ? heading.title : heading.id)
  return section(heading, rows.length === 0 ? nothing(text, line) : table(called, columns, rows))
}

/** Sparkline of ranks by day, with the first position at the top; undefined: a day without an answer. */
export function spark(ranks: readonly (number | null | undefined)[]): Html {
  const known = ranks.flatMap((rank) => rank ?? [])
  if (ranks.length < 2 || known.length === 0) return unknown
  const [least, most] = [Math.min(...known), Math.max(...known, Math.min(...known) + 3)]
  const step = 96 / (ranks.length - 1)
  let pen = 'M'
  const path = ranks.map((rank, index) => {
    if (rank === null || rank === undefined) {
      pen = 'M'
      return ''
    }
    const point = `${pen}${(2 + index * step).toFixed(1)} ${(2 + ((rank - least) / (most - least)) * 18).toFixed(1)}h.1`
    pen = 'L'
    return point
  })
  const words = ranks.map((rank) => rank ?? (rank === null ? 'not in' : 'no answer')).join(', ')
  return html`<svg class="spark" viewBox="0 0 100 22" role="img" aria-label="Ranks: ${words}">
    <path d="${path.join('')}" />
  </svg>`
}

/**
 * A chart that scrolls horizontally if it is too wide, and can then be focused by keyboard. Initially shows its end
 * with the newest days, or its beginning for a chart about the future.
 */
export function scrolled(name: string, chart: Html, seen: 'end' | 'beginning' = 'end'): Html {
  return html`<div class="scroll wide ${seen}" role="region" aria-label="${name}" tabindex="0">
    <div class="drawn">${chart}</div>
  </div>`
}

/** Placeholder for an empty section, with the command that fills it. */
export function nothing(text: string, line: string | null): Html {
  return html`<div class="nothing">
    <p>${text}</p>
    ${line === null ? null : html`<p>${command(line)}</p>`}
  </div>`
}

export function tiles(shown: readonly { readonly value: Content; readonly text: Content }[]): Html {
  return html`<dl class="tiles">
    ${shown.map(
      ({ value, text }) =>
        html`<div class="tile">
          <dt>${text}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

/** A colored word; the color never is the only information. */
export function badge(word: string, tone: 'good' | 'bad' | 'warn' | 'soft'): Html {
  return html`<span class="badge ${tone}">${word}</span>`
}

/** Progress as a bar and in numbers. */
export function progress(done: number, all: number): Html {
  const width = all === 0 ? 0 : Math.round((done / all) * 100)
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="all" width="100" height="8" rx="2" />
      <rect class="part" width="${width}" height="8" rx="2" />
    </svg>
    <span class="soft">${numberText(done)} of ${numberText(all)}</span>`
}

const runTones: Readonly<Record<string, 'good' | 'warn' | 'soft'>> = {
  done: 'good',
  open: 'warn',
  planning: 'warn',
}

export function runBadge(state: string): Html {
  return badge(state, runTones[state] ?? 'soft')
}

/** Names for queries by id: the text, and what distinguishes it from others with the same text. */
export function nameVariants(variants: readonly Variant[]): ReadonlyMap<string, string> {
  const byText = new Map<string, Variant[]>()
  for (const variant of variants) {
    const same = byText.get(variant.q)
    if (same === undefined) byText.set(variant.q, [variant])
    else same.push(variant)
  }
  return new Map(
    [...byText.values()].flatMap((same) =>
      same.map((variant) => [variant.queryId, nameOf(variant, same)] as const),
    ),
  )
}

const words: readonly ((variant: Variant) => string | null)[] = [
  ({ device }) => device,
  ({ location }) => location,
  ({ hl }) => (hl === null ? null : `language ${hl}`),
  ({ gl }) => (gl === null ? null : `country ${gl}`),
  ({ num }) => `${num} results`,
]

/** Leaves out parameters that all variants share. */
function nameOf(variant: Variant, same: readonly Variant[]): string {
  const told = words
    .filter((word) => new Set(same.map(word)).size > 1)
    .map((word) => word(variant))
    .filter((word) => word !== null)
  return told.length === 0 ? variant.q : `${variant.q} (${told.join(', ')})`
}
