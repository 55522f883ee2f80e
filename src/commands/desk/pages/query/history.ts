import { html, type Html } from '../../../drawing/html.ts'
import { figuresLink } from '../../../drawing/picture.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, nothing, scrolled, section, table, to } from '../../../drawing/parts.ts'
import { chooser, dayFields, textField } from '../choose.ts'
import { nightPath, toDomain } from '../ways.ts'
import { daysOf, rankChart, type ChartDay } from './chart.ts'
import type { QueryFound } from './read.ts'

/** Places day by day, as a picture and in numbers, with what chooses the days. */
export function drawHistory(found: QueryFound, place: PagePlace, asked: readonly string[]): Html {
  const days = daysOf(found)
  const title = `Places for ${found.query.q}, day by day`
  const form = chooser({ place, name: 'What the history shows' }, [
    dayFields(found.span),
    textField({
      name: 'domain',
      label: 'Domains besides',
      value: asked.join(' '),
      hint: 'example.com',
    }),
  ])
  const empty = nothing(
    'The query was not asked in this time; its places, day by day, would be here.',
    'npm run enqueue inputs/keywords.csv',
  )
  return section(
    {
      id: 'history',
      title: 'Rank history',
      about:
        'The first place is at the top. A hollow point is an older answer used again, a dotted line a day without an answer to show (it says why under the pointer), "not in" an answer without the domain.',
    },
    html`${form}
    ${
      days.length === 0
        ? empty
        : html`${legend(found, place)}
          ${scrolled('Rank history, as a picture', rankChart(found, title))}
          ${figuresLink(title, figureRows(found, days))} ${numbers(found, place)}`
    }`,
  )
}

/** As in the picture; what the answer of a day was tells a domain that is not in it from a day without one. */
function figureRows({ shown, ranks }: QueryFound, days: readonly ChartDay[]) {
  const places = placesOf(ranks)
  return [
    ['day', 'answer', ...shown.map(({ domain }) => domain)],
    ...days.map(({ runDate, evidence, silence }) => [
      runDate,
      silence ?? evidence,
      ...shown.map(({ domain }) => (silence === null ? places.get(`${runDate} ${domain}`) : null)),
    ]),
  ]
}

function placesOf(ranks: QueryFound['ranks']): ReadonlyMap<string, number> {
  return new Map(ranks.map((rank) => [`${rank.runDate} ${rank.domain}`, rank.position]))
}

function legend({ shown, span }: QueryFound, place: PagePlace): Html {
  return html`<ul class="legend">
    ${shown.map(
      ({ domain, ours }, index) =>
        html`<li class="c${index % 8}">
          <svg viewBox="0 0 18 10" aria-hidden="true"><path d="M0 5H18" /></svg>
          ${toDomain(place, domain, span)}${ours ? html` <span class="soft">ours</span>` : null}
        </li>`,
    )}
  </ul>`
}

/** The picture in numbers. */
function numbers({ query, days, shown, ranks, notes }: QueryFound, place: PagePlace): Html {
  const places = placesOf(ranks)
  const cell = ({ runDate, silence }: ChartDay, domain: string) => {
    if (silence !== null) return html`<span class="none">no answer</span>`
    return amount(places.get(`${runDate} ${domain}`) ?? null)
  }
  const shownDays = daysOf({ days }).toReversed()
  return html`<details id="numbers">
    <summary>In numbers${notes.length === 0 ? null : ', and the notes'}</summary>
    ${table(
      'Places day by day',
      [
        {
          head: 'Day',
          word: true,
          cell: ({ runDate }) => to(place.href(nightPath(query.id, runDate)), runDate),
        },
        { head: 'Answer', word: true, cell: ({ evidence, silence }) => silence ?? evidence },
        ...shown.map(({ domain }) => ({
          head: domain,
          number: true as const,
          cell: (day: ChartDay) => cell(day, domain),
        })),
      ],
      shownDays,
    )}
    ${
      notes.length === 0
        ? null
        : html`<ol class="notes">
            ${notes.map(({ date, text }) => html`<li>${date}: ${given(text)}</li>`)}
          </ol>`
    }
  </details>`
}
