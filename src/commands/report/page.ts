import { hash } from 'node:crypto'
import type { Figures } from '../../store/analysis/figures.ts'
import { readAssets } from '../desk/assets.ts'
import { drawView } from '../desk/layout.ts'
import type { PagePlace, View } from '../desk/page.ts'
import { drawHoldings } from '../desk/pages/domain/holdings.ts'
import { drawMoves } from '../desk/pages/domain/moves.ts'
import type { DomainFound } from '../desk/pages/domain/read.ts'
import { drawPages, drawRivals } from '../desk/pages/domain/rivals.ts'
import { drawShares } from '../desk/pages/domain/shares.ts'
import { drawCoverage } from '../desk/pages/lists/coverage.ts'
import { drawBalances, drawCosts } from '../desk/pages/money/money.ts'
import { drawCalendar } from '../desk/pages/nights/nights.ts'
import { html, Html } from '../drawing/html.ts'
import { noteList } from '../drawing/notes.ts'
import { amount, given, nothing, tiles } from '../drawing/parts.ts'
import { insidePlace, stillPlace } from './place.ts'
import { drawRanks } from './ranks.ts'
import type { ReportFound } from './read.ts'

/** The whole page: one file, no script, nothing fetched; a policy in its head holds the browser to that. */
export function renderPage(found: ReportFound, made: Date): string {
  const style = readAssets().style.text
  const styleHash = hash('sha256', style, 'base64')
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`
  // Written in one piece: a blank more would be another style than the one the policy allows.
  const styleElement = new Html(`<style>${style}</style>`)
  const place = stillPlace(found)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <title>querymill: ${found.figures.day ?? 'nothing yet'}</title>
        ${styleElement}
      </head>
      <body>
        <main>${drawView(viewOf(found, made, place), place)}</main>
        <footer class="foot">
          <p>
            Positions are the best place of a domain in an answer. A gap in a line is a day without
            a place among the results, never a place of its own. All times in ${place.zone}.
          </p>
        </footer>
      </body>
    </html> `
  return page.text
}

function viewOf(found: ReportFound, made: Date, place: PagePlace): View {
  const { figures, held, lists, books } = found
  const { span } = figures
  return {
    title: 'What the answers say',
    lead: html`${dayWords(figures)} Made ${made.toISOString().slice(0, 16).replace('T', ' ')} UTC;
    days from ${span.since} to ${span.until}${span.cut ? ' (more are not drawn on one page)' : ''}.`,
    body: html`${narrowedTo(figures)} ${summary(found)} ${noteList(figures.notes)}
    ${figures.shares.length === 0 ? null : drawTrend(figures, place)}
    ${held.map((one, index) => drawDomain({ found, held: one }, index, place))}
    ${
      books === null
        ? null
        : html`<h2 class="part">Nights</h2>
            ${drawCalendar(books.nights, place)}`
    }
    ${lists.map((list) => drawCoverage(list, insidePlace(place, `list-${list.list.id}`)))}
    ${
      books === null
        ? null
        : html`<h2 class="part">Money</h2>
            ${drawBalances(books.money, place, span)} ${drawCosts(books.money)}`
    }`,
  }
}

function dayWords({ day, narrowed }: Figures): Html {
  if (day !== null) return html`Newest day of a run: ${day}.`
  return html`No readable answers ${narrowed.length === 0 ? 'yet' : 'to these queries'}.`
}

/** What is about some queries must never look as if it were about all. */
function narrowedTo({ narrowed }: Figures): Html | null {
  if (narrowed.length === 0) return null
  return html`<p class="banner">
    <strong>Some queries only:</strong>
    ${narrowed.map((one, index) => html`${index === 0 ? null : '; '}${given(one)}`)}. Coverage,
    nights and money are those of whole runs.
  </p>`
}

function summary({ figures, lists }: ReportFound): Html {
  const days = lists.flatMap((list) => list.days)
  return tiles([
    { value: amount(figures.queries), text: 'queries answered' },
    { value: amount(figures.answers), text: 'answers kept in all' },
    { value: amount(figures.credits), text: 'credits used for them' },
    {
      value: amount(days.reduce((sum, day) => sum + day.failed + day.unknown, 0)),
      text: 'failed or unknown in this time',
    },
  ])
}

function drawTrend(figures: Figures, place: PagePlace): Html {
  return drawShares(
    figures,
    {
      picture: 'Share of voice of the greatest domains and the chosen ones, day by day',
      about: html`Share of the clicks that each domain's best places would get, by weight, over
      ${figures.narrowed.length === 0 ? 'all' : 'these'} queries.`,
    },
    place,
  )
}

/** All that the desk's page of a domain has, and the places of its heaviest queries. */
function drawDomain(
  { found: { figures }, held }: { found: ReportFound; held: DomainFound },
  index: number,
  around: PagePlace,
): Html {
  const { domain, label } = held.known
  const place = insidePlace(around, `domain-${index + 1}`)
  return html`<h2 class="part" id="domain-${index + 1}" dir="auto">
      ${label ?? domain}
      ${label === null || label === domain ? null : html`<small>${domain}</small>`}
    </h2>
    ${
      figures.day === null
        ? nothing('Its share, places and moves would be here.', null)
        : html`${drawHoldings({ ...held, name: domain }, place)}
            ${drawRanks(figures, { domain, label: label ?? domain }, place)}
            ${drawMoves(held, place)}
            <div class="pair">${drawPages(held, place)} ${drawRivals(held, place)}</div>`
    }`
}
