import type { SerpResult } from '../../../../store/analysis/serp.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, nothing, section, tiles } from '../../../drawing/parts.ts'
import { moved, toDomain } from '../ways.ts'
import { compare, type SerpChange } from './compare.ts'
import type { NightAnswer } from './read.ts'
import { titleOf } from './results.ts'

/** Two nights side by side: the earlier one at the left. */
export function drawBeside(early: NightAnswer, late: NightAnswer, place: PagePlace): Html {
  const changes = compare(early, late)
  const count = (kind: SerpChange['kind']) =>
    changes.filter((change) => change.kind === kind).length
  const same =
    early.serp.search === late.serp.search
      ? nothing(
          'Both days are served by the same answer: nothing can have changed between them.',
          null,
        )
      : null
  return html`${same}
  ${tiles([
    { value: amount(count('came')), text: 'came' },
    { value: amount(count('went')), text: 'went' },
    { value: amount(count('moved')), text: 'moved' },
    { value: amount(changes.filter(({ retitled }) => retitled).length), text: 'were retitled' },
  ])}
  ${section(
    {
      id: 'beside',
      title: `${early.serp.runDate} beside ${late.serp.runDate}`,
      about:
        'Place by place. A page counts as come or gone only where the other answer reaches down to its place.',
    },
    besideTable({ early, late, changes }, place),
  )}
  ${section({ id: 'words', title: 'Besides the results' }, wordChanges(early, late))}`
}

interface Sides {
  readonly early: NightAnswer
  readonly late: NightAnswer
  readonly changes: readonly SerpChange[]
}

function besideTable({ early, late, changes }: Sides, place: PagePlace): Html {
  const rows = placesOf(early, late)
  const head = (answer: NightAnswer) =>
    html`<th scope="col">
      ${answer.serp.runDate} <span class="soft">to place ${answer.serp.depth}</span>
    </th>`
  return html`<div class="scroll" role="region" aria-label="Two nights side by side" tabindex="0">
    <table class="beside">
      <thead>
        <tr>
          <th scope="col" class="n">Place</th>
          ${head(early)} ${head(late)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ position, left, right }) =>
            html`<tr>
              <th scope="row" class="n">${position === null ? '–' : position}</th>
              <td class="${left === null ? 'blank' : ''}">
                ${side(left, changes, { place, now: false })}
              </td>
              <td class="${right === null ? 'blank' : ''}">
                ${side(right, changes, { place, now: true })}
              </td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

interface PlaceRow {
  readonly position: number | null
  readonly left: SerpResult | null
  readonly right: SerpResult | null
}

/** One row for each place; what a place shows twice, or what has none, gets rows of its own. */
function placesOf(early: NightAnswer, late: NightAnswer): readonly PlaceRow[] {
  const rows = new Map<
    string,
    { left: SerpResult | null; right: SerpResult | null; position: number | null }
  >()
  for (const [key, answer] of [
    ['left', early],
    ['right', late],
  ] as const) {
    const seen = new Map<number | null, number>()
    for (const result of answer.results) {
      const nth = (seen.get(result.position) ?? 0) + 1
      seen.set(result.position, nth)
      const name = `${result.position} ${nth}`
      const row = rows.get(name) ?? { left: null, right: null, position: result.position }
      rows.set(name, { ...row, [key]: result })
    }
  }
  return [...rows.values()].toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity))
}

/** A result with what became of it: at the left what went, at the right what came, moved, was retitled. */
function side(
  result: SerpResult | null,
  changes: readonly SerpChange[],
  { place, now }: { place: PagePlace; now: boolean },
): Html | null {
  if (result === null) return null
  const change = changes.find((one) => (now ? one.now : one.before) === result)
  return html`${mark(change, now)} ${titleOf(result)}
    <p class="snippet">${toDomain(place, result.domain)}</p>
    ${
      now && change?.retitled === true
        ? html`<p class="snippet soft">
            <span class="warn">retitled</span>, before:
            <del>${given(change.before?.title ?? null)}</del>
          </p>`
        : null
    }`
}

function mark(change: SerpChange | undefined, now: boolean): Html | null {
  if (change === undefined) return html`<span class="soft mark-change">again</span>`
  const text = words(change, now)
  return text === null ? null : html`<span class="mark-change">${text}</span>`
}

function words({ kind, before, now: after }: SerpChange, now: boolean): Html | null {
  if (kind === 'unsure') {
    const text = now ? 'further down than the earlier answer' : 'further down than the later answer'
    return html`<span class="soft">${text}</span>`
  }
  if (now) return moved(before?.position ?? null, after?.position ?? null)
  return kind === 'went' ? moved(1, null) : null
}

/** Entities, groups, related searches and blocks that came and went. */
function wordChanges(early: NightAnswer, late: NightAnswer): Html {
  const names = (answer: NightAnswer) =>
    new Set(
      answer.words.map(
        ({ kind, type, text }) => `${kind}: ${[type, text].filter(Boolean).join(' ')}`,
      ),
    )
  const [old, fresh] = [names(early), names(late)]
  const came = [...fresh].filter((name) => !old.has(name))
  const went = [...old].filter((name) => !fresh.has(name))
  if (came.length + went.length === 0)
    return nothing('Entities, groups, related searches and blocks are the same in both.', null)
  const list = (found: readonly string[]) =>
    html`<ul class="chips">
      ${found.map((name) => html`<li>${given(name)}</li>`)}
    </ul>`
  return html`<dl class="facts words">
    ${
      came.length === 0
        ? null
        : html`<dt>Came</dt>
            <dd>${list(came)}</dd>`
    }
    ${
      went.length === 0
        ? null
        : html`<dt>Went</dt>
            <dd>${list(went)}</dd>`
    }
  </dl>`
}
