import type { AccountPurse, PursePoint } from '../../../../store/operator/money.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { numberText } from '../../../drawing/numbers.ts'
import type { NamedEvent } from '../../../statement/lines.ts'
import type { DaySpan } from '../../address.ts'
import type { PagePlace } from '../../page.ts'
import { amount, figure, given, instant, section, tiles, to } from '../../../drawing/parts.ts'
import { tickText } from './scale.ts'

interface BalanceFound {
  readonly purse: AccountPurse
  readonly points: readonly PursePoint[]
  /** Null: too many calls for a look. */
  readonly events: readonly NamedEvent[] | null
  readonly span: DaySpan
}

/** One account: what is left, how it came to that, and what others did to it. */
export function drawBalance(found: BalanceFound, place: PagePlace): Html {
  const { purse, events } = found
  const told = (events ?? []).filter(({ what }) => what !== 'perhaps ours')
  const sum = (names: readonly string[]) =>
    events === null
      ? null
      : events
          .filter(({ what }) => names.includes(what))
          .reduce((all, { credits }) => all + credits, 0)
  const others = sum(["somebody else's"])
  const spentByOthers = others === null ? null : Math.abs(others)
  return section(
    {
      id: `account-${purse.id}`,
      title: html`Balance of ${given(purse.account)}`,
      about: html`${purse.origin} account; the balance was told
      ${instant(purse.observed_at, place.zone)}.`,
    },
    html`${tiles([
      { text: 'credits left', value: figure(`${purse.account}.remaining`, purse.remaining) },
      { text: 'must stay (floor)', value: amount(purse.floor) },
      {
        text: 'used by our calls in this time',
        value: figure(`${purse.account}.used`, purse.used),
      },
      { text: 'added: top-ups and renewals', value: amount(sum(['top-up', 'renewal'])) },
      { text: 'spent by others', value: amount(spentByOthers) },
    ])}
    ${picture(found)}
    ${
      told.length === 0
        ? null
        : html`<ul class="lines">
            ${told.slice(-8).map((event) => happened(event, place))}
          </ul>`
    }
    ${wayToStatement(found, place)}`,
  )
}

function wayToStatement({ purse, span }: BalanceFound, { href }: PagePlace): Html | null {
  const way = href('/money/statement', {
    account: purse.account,
    since: span.since,
    until: span.until,
  })
  return way === null ? null : html`<p>${to(way, 'Every change explained: the statement')}</p>`
}

function happened({ what, at, credits, balance }: NamedEvent, { zone }: PagePlace): Html {
  const sign = credits > 0 ? '+' : '−'
  return html`<li>
    ${instant(at, zone)}: ${what} ${sign} ${numberText(Math.abs(credits))}, balance
    ${numberText(balance)}
  </li>`
}

function picture({ purse, points, events }: BalanceFound): Html {
  if (points.length < 2)
    return html`<p class="soft">
      Fewer than two balances were told in this time: there is no line to draw.
    </p>`
  const values = points.map(({ remaining }) => remaining)
  const { floor } = purse
  const greatest = Math.max(...values, floor ?? 0)
  const least = Math.min(...values, floor ?? greatest)
  // A balance that hardly moved looks flat from nought; the axis says where it begins.
  const flat =
    least > greatest / 2 &&
    Math.min(...values) > greatest / 2 &&
    (floor === null || floor < greatest / 2)
  const from = flat ? Math.min(...values) - (greatest - Math.min(...values)) * 0.1 - 1 : 0
  const mark =
    floor === null || floor < from
      ? {}
      : { mark: { value: floor, name: `floor ${numberText(floor)}` } }
  return html`${drawPicture(
    {
      title: `Balance of ${purse.account} over time`,
      series: [
        {
          name: purse.account,
          points: points.map(({ at, remaining }) => ({ at, value: remaining })),
        },
      ],
      events: (events ?? [])
        .filter(({ what }) => what === 'top-up' || what === 'renewal')
        .map(({ at, what, credits }) => ({
          at,
          name: `${what}: ${numberText(credits)} credits`,
        })),
      grain: 'instant',
      hover: true,
      width: 1040,
      height: 230,
      range: [from, greatest > from ? greatest : from + 1],
      format: tickText,
      ...mark,
    },
    { name: 'Picture of the balance' },
  )}
  ${from > 0 ? html`<p class="soft">The scale does not begin at nought.</p>` : null}`
}
