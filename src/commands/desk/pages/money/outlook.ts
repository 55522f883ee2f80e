import type { CreditOutlook } from '../../../../credits/foresee.ts'
import type { ForecastStep } from '../../../../credits/prospect.ts'
import { outlookSentences } from '../../../mill/outlook.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { numberText } from '../../../drawing/numbers.ts'
import type { PagePlace } from '../../page.ts'
import { amount, command, given, instant, nothing, section, table } from '../../../drawing/parts.ts'
import { tickText } from './scale.ts'

/** What open runs and coming nights will cost, as paid lately and at the dearest. */
export function drawOutlook(outlook: CreditOutlook | null, { zone }: PagePlace): Html {
  const about = html`The coming seven days of the account in the settings;
  ${command('npm run outlook')} looks further.`
  if (outlook === null) {
    return section({ id: 'outlook', title: 'Outlook', about }, drawOutlookLines(outlook, zone))
  }
  const { forecast } = outlook
  const steps = forecast.kind === 'known' ? forecast.steps : []
  const body =
    steps.length === 0
      ? nothing(
          'Nothing is open, or nobody knows yet what it costs. What is to come would be a line for each run and night here.',
          'npm run nightly -- --show',
        )
      : html`${band(outlook, steps)} ${table('What is to come', columns(zone), steps)}`
  return section(
    { id: 'outlook', title: 'Outlook', about },
    html`${drawOutlookLines(outlook, zone)} ${body}`,
  )
}

/** The outlook in sentences; null: nobody could wait for it. */
export function drawOutlookLines(outlook: CreditOutlook | null, zone: string): Html {
  if (outlook === null) return html`<p>It takes too long to compute for a look.</p>`
  return html`<ul class="lines">
    ${outlookSentences(outlook, zone).map((line) => html`<li>${line}</li>`)}
  </ul>`
}

function columns(zone: string) {
  const number = true as const
  const word = true as const
  return [
    { head: 'when', word, cell: ({ at }: ForecastStep) => instant(new Date(at), zone) },
    {
      head: 'what',
      word,
      cell: ({ kind, name }: ForecastStep) => (kind === 'run' ? `run ${name}` : name),
    },
    { head: 'list', cell: ({ list }: ForecastStep) => given(list) },
    { head: 'to buy', number, cell: ({ asked }: ForecastStep) => amount(asked) },
    { head: 'still fresh', number, cell: ({ fresh }: ForecastStep) => amount(fresh) },
    { head: 'credits', number, cell: ({ credits }: ForecastStep) => amount(credits) },
    { head: 'at the dearest', number, cell: ({ worst }: ForecastStep) => amount(worst) },
    { head: 'left after', number, cell: ({ after }: ForecastStep) => amount(after) },
    { head: 'verdict', cell: verdict },
  ]
}

function verdict({ cut, sure, bought, asked }: ForecastStep): Html {
  if (cut !== null) {
    const what = cut === 'floor' ? 'the floor' : `the ${cut === 'budget' ? 'run' : cut}'s budget`
    return html`<span class="bad">${what} ends it at ${bought} of ${asked}</span>`
  }
  return sure ? html`fits` : html`<span class="warn">fits as paid lately, not at the dearest</span>`
}

/** The balance to come: one line as paid lately, one at the dearest price. */
function band({ balance, now, floor }: CreditOutlook, steps: readonly ForecastStep[]): Html | null {
  // One point in time is no course of things.
  if (balance === null || new Set(steps.map(({ at }) => at)).size < 2) return null
  const begin = { at: now, value: balance }
  let left = balance
  const worst = steps.map(({ at, kind, worst: dear, after }) => {
    left = kind === 'renewal' ? after : left - dear
    return { at: new Date(at), value: Math.max(0, left) }
  })
  const usual = steps.map(({ at, after }) => ({ at: new Date(at), value: after }))
  const greatest = Math.max(balance, ...usual.map(({ value }) => value), floor)
  return drawPicture(
    {
      title: 'Balance to come, as paid lately and at the dearest price',
      series: [
        { name: 'as paid lately', points: [begin, ...usual] },
        { name: 'at the dearest', points: [begin, ...worst] },
      ],
      grain: 'instant',
      hover: true,
      width: 1040,
      height: 200,
      range: [0, greatest],
      format: tickText,
      named: true,
      mark: { value: floor, name: `floor ${numberText(floor)}` },
    },
    { name: 'Picture of the outlook', seen: 'beginning' },
  )
}
