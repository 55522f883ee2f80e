import { dayOf } from '../../../../shared/time/zone.ts'
import type { ListDay } from '../../../../store/analysis/list-facts.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { numberText } from '../../../drawing/numbers.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, nothing, percent, section, table, to } from '../../../drawing/parts.ts'
import { chooser, dayFields } from '../choose.ts'
import { dayPicture } from '../domain/shares.ts'
import type { ListFound } from './read.ts'

/** A list with what became of it on some days. */
export type CoverageFound = Pick<ListFound, 'span' | 'days'> & {
  readonly list: Pick<ListFound['list'], 'id' | 'name'>
}

/** What was answered of a list, day by day, and what it cost. */
export function drawCoverage({ list, span, days }: CoverageFound, place: PagePlace): Html {
  const form = chooser({ place, name: 'Which days' }, dayFields(span))
  const body =
    days.length === 0
      ? nothing('No run of the list has a day in this time.', 'npm run enqueue inputs/keywords.csv')
      : html`${days.length < 2 ? null : picture(list.name, days.toReversed())}
        ${dayTable(days, place)}`
  const about =
    'Bought or reused is answered, and so is not asked: its last answer stands in. Others are unreadable, suspect, of a kind that is not shown, too dear or cancelled. Credits hold the bound of each call whose price is not known.'
  return section(
    {
      id: place.id('coverage'),
      title: place.still ? html`Coverage and costs of ${given(list.name)}` : 'Coverage and costs',
      about,
    },
    html`${form} ${body}`,
  )
}

function picture(name: string, days: readonly ListDay[]): Html {
  const title = `Queries of ${name} that were to be asked, and those answered, day by day`
  const at = ({ runDate }: ListDay) => dayOf(runDate)
  const most = Math.max(1, ...days.map(({ planned }) => planned))
  return drawPicture({
    title,
    series: [
      { name: 'answered', points: days.map((day) => ({ at: at(day), value: day.answered })) },
      { name: 'planned', points: days.map((day) => ({ at: at(day), value: day.planned })) },
    ],
    ...dayPicture,
    height: 200,
    range: [0, most * 1.05],
    format: numberText,
  })
}

function dayTable(days: readonly ListDay[], place: PagePlace): Html {
  const counts = [
    'planned',
    'bought',
    'reused',
    'notAsked',
    'failed',
    'unknown',
    'open',
    'others',
  ] as const
  return table(
    'Coverage day by day',
    [
      {
        head: 'Night',
        word: true,
        cell: ({ run, runDate }) =>
          run === null ? runDate : to(place.href(`/runs/${run}`), runDate),
      },
      {
        head: 'Answered',
        number: true,
        cell: ({ answered, planned }) => percent(planned === 0 ? null : answered / planned),
      },
      ...counts.map((name) => ({
        head: name === 'notAsked' ? 'not asked' : name,
        number: true as const,
        cell: (day: ListDay) => amount(day[name]),
      })),
      { head: 'Credits', number: true, cell: ({ credits }) => amount(credits) },
    ],
    days,
  )
}
