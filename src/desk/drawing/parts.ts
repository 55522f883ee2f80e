// Page components: sections, lists, numbers, badges.

import { line as d3Line } from 'd3-shape'
import { formatMinute } from '../../base/time/zone.ts'
import { element, type Html, html, numberText, type Part } from './html.ts'

export type Content = Exclude<Part, undefined>

const fixed = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })

/** Formats a number for display: `12,345`. An unknown value is shown as a dash, with a label for screen readers. */
export function amount(value: number | null): Html {
  return value === null ? unknown : html`${numberText(value)}`
}

export function percent(share: number | null): Html {
  return share === null ? unknown : html`${fixed.format(share * 100)} %`
}

export const unknown: Html = html`<span class="none" aria-label="unknown">–</span>`

/** Renders a number with its field name in `status -- --json`. */
export function figure(name: string, value: number | null): Html {
  return html`<span data-figure="${name}" data-value="${value ?? ''}">${amount(value)}</span>`
}

/** Credits that are reserved for calls with an unknown outcome. */
export function uncertainNote({ uncertain }: { readonly uncertain: number }): Html | null {
  return uncertain === 0
    ? null
    : html` <span class="soft below">+ ${amount(uncertain)} uncertain</span>`
}

export function instant(at: Date | string | null, zone: string): Html {
  if (at === null) return unknown
  const date = typeof at === 'string' ? new Date(at) : at
  return html`<time datetime="${date.toISOString()}" title="${date.toISOString()}"
    >${formatMinute(zone, date)}</time
  >`
}

/** Text from a list or an answer, which may be long or written from right to left. */
export function given(text: string | null): Html {
  return text === null ? unknown : html`<span class="given" dir="auto">${text}</span>`
}

export function command(line: string): Html {
  return html`<code class="command" data-copy>${line}</code>`
}

/** Builds a link within the desk. If `href` is null, as in a report file, only the text is shown. */
export function to(href: string | null, text: Html | string | number): Html {
  if (href === null) return html`${text}`
  return html`<a href="${href}">${text}</a>`
}

export interface Titles {
  readonly id: string
  readonly title: Html | string
  /** Total number of rows, shown after the title. */
  readonly count?: number
  readonly about?: Html | string | null
}

export function section({ id, title, count, about = null }: Titles, body: Content): Html {
  return html`<section id="${id}">
    <h2>${title}${count === undefined ? null : ` (${numberText(count)})`}</h2>
    ${about === null ? null : html`<p class="soft">${about}</p>`} ${body}
  </section>`
}

export function lines(shown: readonly Content[], kind: 'lines' | 'news' | 'chips' = 'lines'): Html {
  return html`<ul class="${kind}">
    ${shown.map((one) => html`<li>${one}</li>`)}
  </ul>`
}

export function facts(
  shown: readonly (readonly [term: string, value: Content])[],
  kind: 'facts' | 'facts words' = 'facts',
): Html {
  return html`<dl class="${kind}">
    ${shown.map(
      ([term, value]) =>
        html`<dt>${term}</dt>
          <dd>${shownAs(value)}</dd>`,
    )}
  </dl>`
}

/** Sparkline of ranks by day, with position 1 at the top. `undefined` marks a day without an answer. */
export function spark(ranks: readonly (number | null | undefined)[]): Html {
  const known = ranks.flatMap((rank) => rank ?? [])
  if (ranks.length < 2 || known.length === 0) return unknown
  const least = Math.min(...known)
  const most = Math.max(...known, least + 3)
  const draw = d3Line<number | null | undefined>()
    .defined((rank) => typeof rank === 'number')
    .x((_, nth) => 2 + (nth * 96) / (ranks.length - 1))
    .y((rank) => 2 + (((rank ?? 0) - least) / (most - least)) * 18)
    .digits(1)
  const words = ranks.map((rank) => rank ?? (rank === null ? 'not ranked' : 'no answer')).join(', ')
  return html`<svg class="spark" viewBox="0 0 100 22" role="img" aria-label="Ranks: ${words}">
    <path d="${draw(ranks)}" />
  </svg>`
}

/** Makes a wide chart scrollable, initially at its end (the newest days) or its beginning. */
export function scrolled(name: string, chart: Html, seen: 'end' | 'beginning' = 'end'): Html {
  return html`<div class="scroll wide ${seen}" role="region" aria-label="${name}" tabindex="0">
    <div class="drawn">${chart}</div>
  </div>`
}

/** Placeholder for an empty section, with the command that fills it. */
export function nothing(text: string, line: string | null = null): Html {
  return html`<div class="nothing">
    <p>${text}</p>
    ${line === null ? null : html`<p>${command(line)}</p>`}
  </div>`
}

export function tiles(shown: readonly (readonly [text: string, value: Content])[]): Html {
  return html`<dl class="tiles">
    ${shown.map(
      ([text, value]) =>
        html`<div class="tile">
          <dt>${text}</dt>
          <dd>${shownAs(value)}</dd>
        </div>`,
    )}
  </dl>`
}

function shownAs(value: Content): Content {
  return value === null || typeof value === 'number' ? amount(value) : value
}

export function badge(word: string, tone: 'good' | 'bad' | 'warn' | 'soft'): Html {
  return html`<span class="badge ${tone}">${word}</span>`
}

export function shareBar(share: number): Html {
  const all = { height: 8, rx: 2 }
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    ${element('rect', { class: 'all', width: 100, ...all })}
    ${element('rect', { class: 'part', width: Math.round(share * 100), ...all })}
  </svg>`
}

/** Links to the previous and the next part. A missing part is null. */
export function steps(name: string, shown: readonly Content[]): Html {
  return html`<nav class="steps" aria-label="${name}">
    <ul>
      ${shown.map((one) => (one === null ? null : html`<li>${one}</li>`))}
    </ul>
  </nav>`
}

export function progress(done: number, all: number): Html {
  return html`${shareBar(all === 0 ? 0 : done / all)}
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
