import { dayOf } from '../../../../shared/time/zone.ts'
import type { RestingList, RestingNight } from '../../../../store/nights/receipts.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { Series } from '../../../drawing/lines.ts'
import { numberText } from '../../../drawing/numbers.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { dayPicture } from '../domain/shares.ts'
import { amount, given, percent, progress, section, table, tiles } from '../../../drawing/parts.ts'

/** A list that rests: figures of its last nights, pictures of all of them, and how long its queries rest. */
export function drawResting(list: RestingList, nights: readonly RestingNight[], nth: number): Html {
  const days = nights.toReversed()
  const couldRest = list.rested + list.by_chance
  return section(
    {
      id: `list-${nth}`,
      title: html`${given(list.list)}`,
      about: `The figures are of its last ${list.nights} nights that were decided. Queries drawn by chance stand for all that could rest; the bounds hold in 95 of 100 cases (Wilson, with correction for continuity).`,
    },
    html`${tiles([
      { value: amount(list.credits), text: 'credits spent' },
      { value: amount(Math.round(list.credits_saved)), text: 'credits saved' },
      {
        value: percent(couldRest === 0 ? null : list.rested / Math.max(1, list.queries)),
        text: 'of all askings rested',
      },
      {
        value: html`${amount(list.moved)} of ${amount(list.compared)}`,
        text: 'drawn by chance that hid a move',
      },
      ...(list.lent + list.lent_by_chance === 0
        ? []
        : [
            { value: amount(list.lent), text: 'answers lent by twins' },
            {
              value: html`${amount(list.lent_differed)} of ${amount(list.lent_compared)}`,
              text: 'drawn twins that differed',
            },
          ]),
    ])}
    ${days.length < 2 ? null : pictures(list.list, days)} ${intervalTable(list)}`,
  )
}

function pictures(name: string, days: readonly RestingNight[]): Html {
  const line = (title: string, of: (night: RestingNight) => number | null): Series => {
    return {
      name: title,
      points: days.map((night) => ({ at: dayOf(night.run_date), value: of(night) })),
    }
  }
  return html`
    ${picture(`Credits that each night of ${name} spent, and those it saved`, [
      line('spent', ({ credits }) => credits),
      line('saved', ({ credits_saved: saved }) => saved),
    ])}
    ${picture(`Pages that each night of ${name} saw enter or leave the first ten`, [
      line('moves seen', ({ moves }) => moves),
    ])}
    ${picture(`Queries of ${name} that could rest and hid a move, by those drawn by chance`, [
      line('most', ({ hidden_high: high }) => high),
      line('as drawn', ({ hidden }) => hidden),
      line('least', ({ hidden_low: low }) => low),
    ])}
  `
}

function picture(title: string, series: readonly Series[]): Html | null {
  const values = series.flatMap(({ points }) => points.flatMap(({ value }) => value ?? []))
  if (values.length === 0) return null
  return html`<h3>${title}</h3>
    ${drawPicture({
      title,
      series,
      ...dayPicture,
      height: 180,
      range: [0, Math.max(1, ...values) * 1.05],
      format: numberText,
    })}`
}

function intervalTable({ list, intervals, run_date: date }: RestingList): Html {
  const all = intervals.reduce((sum, queries) => sum + queries, 0)
  const rows = intervals
    .map((queries, index) => ({ days: index + 1, queries }))
    .filter(({ queries }) => queries > 0)
  return html`<h3>How often the queries of ${given(list)} are asked, as decided for ${date}</h3>
    ${table(
      'Intervals',
      [
        {
          head: 'asked',
          word: true,
          cell: ({ days }) => (days === 1 ? 'every day' : `every ${days} days`),
        },
        { head: 'queries', number: true, cell: ({ queries }) => amount(queries) },
        { head: 'of all', cell: ({ queries }) => progress(queries, all) },
      ],
      rows,
    )}`
}
