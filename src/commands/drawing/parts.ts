import { formatMinute } from '../../shared/time/zone.ts'
import { html, Html } from './html.ts'
import { numberText } from './numbers.ts'
import { asTyped } from '../../shared/terminal/invocation.ts'

/** What may stand in a page. */
export type Content = Html | string | number | null | readonly (Html | string)[]

const rough = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** A number as people read it: `12,345`. Nothing known is a dash, which a screen reader is told in words. */
export function amount(value: number | null): Html {
  return value === null ? unknown : html`${numberText(value)}`
}

/** A share of one as a percentage. */
export function percent(share: number | null): Html {
  return share === null ? unknown : html`${rough.format(share * 100)} %`
}

/** Not known, or not there: a dash for the eye. */
export const unknown: Html = html`<span class="none" aria-label="unknown">–</span>`

/** A number that a test, or a person, can find by its name among those of `status -- --json`. */
export function figure(name: string, value: number | null): Html {
  return html`<span data-figure="${name}" data-value="${value ?? ''}">${amount(value)}</span>`
}

/** An instant in a zone, to the minute, and exactly for programs. */
export function instant(at: Date | string | null, zone: string): Html {
  if (at === null) return unknown
  const date = typeof at === 'string' ? new Date(at) : at
  return html`<time datetime="${date.toISOString()}" title="${date.toISOString()}"
    >${formatMinute(zone, date)}</time
  >`
}

/** A text of a list or an answer: its direction is its own, and it may be long. */
export function given(text: string | null): Html {
  return text === null ? unknown : html`<span class="given" dir="auto">${text}</span>`
}

/** What to type, ready to be copied. */
export function command(line: string): Html {
  return html`<code class="command" data-copy>${asTyped(line)}</code>`
}

/** A link within the desk; null: where that cannot be seen, as from a file, it is its text. */
export function to(href: string | null, text: Html | string | number): Html {
  if (href === null) return html`${text}`
  return html`<a href="${href}">${text}</a>`
}

/** A section with its heading; the id makes it an address of its own. */
export function section(
  { id, title, about }: { id: string; title: Html | string; about?: Html | string },
  body: Content,
): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    ${about === undefined ? null : html`<p class="soft">${about}</p>`} ${body}
  </section>`
}

/** A column of a table. */
export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => Content
  /** Numbers stand at the right, one below the other. */
  readonly number?: true
  /** Words that are not broken. */
  readonly word?: true
}

/** A table that scrolls sideways by itself where it is too wide, and can be reached by keyboard then. */
export function table<Row>(
  name: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  const kind = ({ number, word }: Column<Row>) =>
    number === true ? new Html(' class="n"') : word === true ? new Html(' class="word"') : null
  return html`<div class="scroll" role="region" aria-label="${name}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" ${kind(column)}>${column.head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map((column) => html`<td${kind(column)} data-head="${column.head}">${column.cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/**
 * A picture that scrolls sideways by itself where it is too wide, and can be reached by keyboard then. What is seen before
 * anybody scrolls is its end, where the newest days are, or its beginning where it tells of days to come.
 */
export function scrolled(name: string, chart: Html, seen: 'end' | 'beginning' = 'end'): Html {
  return html`<div class="scroll wide ${seen}" role="region" aria-label="${name}" tabindex="0">
    <div class="drawn">${chart}</div>
  </div>`
}

/** What stands where nothing is: what would be here, and what to type. */
export function nothing(text: string, line: string | null): Html {
  return html`<div class="nothing">
    <p>${text}</p>
    ${line === null ? null : html`<p>${command(line)}</p>`}
  </div>`
}

/** Numbers that are seen first. */
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

/** A word with a colour that is never its only sign. */
export function badge(word: string, tone: 'good' | 'bad' | 'warn' | 'soft'): Html {
  return html`<span class="badge ${tone}">${word}</span>`
}

/** How far something is, as a bar and in numbers. */
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

/** The state of a run. */
export function runBadge(state: string): Html {
  return badge(state, runTones[state] ?? 'soft')
}
