import { html, type Html } from '../../../drawing/html.ts'
import { ago } from '../../../status/screen.ts'
import type { PagePlace } from '../../page.ts'
import { figure, given, nothing, section, tiles, to } from '../../../drawing/parts.ts'
import { drawOutlookLines } from '../money/outlook.ts'
import type { TonightFound } from './found.ts'

/** What is left, what must stay, what is to come. */
export function drawMoney(found: TonightFound, { zone, href }: PagePlace): Html {
  const { account, floor, accountName } = found
  const title = html`Money`
  if (account === null) {
    const text = `The account ${accountName} was not used yet: its balance comes with the first answer.`
    return section({ id: 'money-now', title }, nothing(text, 'npm run work -- --drain'))
  }
  const seen =
    account.remaining === null ? 'not told yet' : `told ${ago(account.observed_ago_s)} ago`
  return section(
    {
      id: 'money-now',
      title,
      about: html`Account ${given(account.name)}; the balance was ${seen}.`,
    },
    html`${tiles([
        { text: 'credits left', value: figure('account.remaining', account.remaining) },
        { text: 'must stay (floor)', value: figure('account.floor', floor) },
        { text: 'held for calls in flight', value: figure('account.reserved', account.reserved) },
        {
          text: 'held for calls nobody could read',
          value: figure('account.uncertain', account.uncertain),
        },
        { text: 'spent this day', value: figure('account.day_spent', account.day_spent) },
        { text: 'spent this month', value: figure('account.month_spent', account.month_spent) },
      ])}
      <h3>Outlook</h3>
      ${outlookLinesOf(found, zone)}
      <p>${to(href('/money'), 'Balance over time, statement and costs')}</p>`,
  )
}

function outlookLinesOf({ outlook, origin }: TonightFound, zone: string): Html {
  if (origin === 'test') return html`<p>A test account never stops for credit.</p>`
  return drawOutlookLines(outlook, zone)
}
