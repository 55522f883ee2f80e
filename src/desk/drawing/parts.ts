// Page components: sections, tables, lists, numbers, badges.

import { asTyped } from '../../base/cli/commands.ts'
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
  return html`<code class="command" data-copy>${asTyped(line)}</code>`
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
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
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

// With one column more than these, a phone shows all: a box to tick would take as much space.
const phoneColumns = 4

/**
 * A table that scrolls horizontally if it is too wide. On a phone, each row is a card with the first columns; a box
 * unfolds the others.
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
  const unfold = html`<label class="unfold"
    ><input type="checkbox" /> All columns of ${name}</label
  >`
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

export const style = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2126; --soft: #5d6670; --rule: #dcdfe3; --accent: #0b57a4;
  --good: #17734a; --bad: #b3261e; --warn: #8a5a00;
  --c0: #0b57a4; --c1: #c2410c; --c2: #17734a; --c3: #7a3ea1; --c4: #a1246b; --c5: #5b6b00; --c6: #00707a; --c7: #6b5a45;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e8eaed; --soft: #a3acb5; --rule: #353b42; --accent: #7db7f2;
    --good: #6bcb98; --bad: #f28b82; --warn: #e9b65c;
    --c0: #7db7f2; --c1: #f6a06b; --c2: #6bcb98; --c3: #c79be8; --c4: #f08abf; --c5: #c5d36a; --c6: #62cbd6; --c7: #cdb99b;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 0 0 4px; }
h3 { font-size: 14px; margin: 20px 0 6px; color: var(--soft); font-weight: 600; }
p { margin: 4px 0 12px; } h2, p, li { overflow-wrap: anywhere; }
.soft { color: var(--soft); }
.banner { border-left: 4px solid var(--warn); padding: 8px 12px; margin: 16px 0; background: var(--card); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 20px 0; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 18px 20px; margin: 16px 0; }
.scroll { overflow-x: auto; }
.scroll table { min-width: 720px; } .wide .drawn { min-width: 900px; }
.scroll.end { direction: rtl; } .scroll.end > .drawn { direction: ltr; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 5px 10px 5px 0; border-bottom: 1px solid var(--rule); vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); font-size: 13px; overflow-wrap: normal; }
td.n, th.n { text-align: right; white-space: nowrap; }
a { color: var(--accent); }
.up, .entered { color: var(--good); } .down, .left { color: var(--bad); }
td:is(.up, .down, .entered, .left, .word) { white-space: nowrap; } td.list { min-width: 8em; }
svg { display: block; width: 100%; height: auto; }
.grid { stroke: var(--rule); stroke-width: 1; }
.tick { fill: var(--soft); font-size: 11px; }
.band { fill: var(--bad); opacity: 0.14; }
.mark { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 5 4; }
.event .mark { stroke: var(--good); stroke-width: 1; } .event path { fill: var(--good); }
.note .mark { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 2 3; }
.series path { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
.name { font-size: 12px; }
${[0, 1, 2, 3, 4, 5, 6, 7]
  .map(
    (n) =>
      `.c${n} path { stroke: var(--c${n}); } .c${n} circle, .bars.c${n} rect, text.c${n} { fill: var(--c${n}); }`,
  )
  .join('\n')}
.smalls { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); gap: 14px 20px; }
figure { margin: 0; }
figcaption { font-size: 13px; overflow-wrap: anywhere; }
p.figures { margin: 4px 0 0; font-size: 13px; }
.spark { width: 100px; height: 22px; } .spark path { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-linecap: round; }
@media (max-width: 600px) {
  .scroll:not(.wide) table { min-width: 0; }
  .scroll:not(.wide) :is(table, tbody, tr) { display: block; }
  .scroll:not(.wide) thead { position: absolute; left: -200vw; }
  .scroll:not(.wide) tr { padding: 6px 0; border-bottom: 1px solid var(--rule); }
  .scroll:not(.wide) td { display: inline-block; max-width: 100%; padding: 0 14px 2px 0; border: 0; text-align: left; white-space: normal; }
  .scroll:not(.wide) td:first-child { display: block; padding: 0 0 2px; font-weight: 600; }
  .scroll:not(.wide) td:not(:first-child)::before { content: attr(data-head) " "; color: var(--soft); font-size: 13px; font-weight: 400; }
}
.unfold { display: none; }
@media (max-width: 600px) {
  .unfold { display: block; padding: 6px 0; }
  .unfold:not(:has(:checked)) + .scroll .rest { display: none; }
}
footer { color: var(--soft); font-size: 13px; margin-top: 24px; }
@media print {
  :root { color-scheme: light; --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --accent: #000;
    --good: #17734a; --bad: #b3261e; --warn: #8a5a00;
    --c0: #0b57a4; --c1: #c2410c; --c2: #17734a; --c3: #7a3ea1; --c4: #a1246b; --c5: #5b6b00; --c6: #00707a; --c7: #6b5a45; }
  body { font-size: 11px; }
  main { max-width: none; padding: 0; }
  section, figure, tr { break-inside: avoid; }
  p.figures { display: none; }
  .scroll { overflow: visible; } .scroll table, .wide .drawn { min-width: 0; }
}
`
