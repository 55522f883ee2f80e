import { hash } from 'node:crypto'
import type { Figures, Move, RunFigures } from '../store/figures.ts'
import { html, Html, link } from './html.ts'
import { lineChart, type Point } from './lines.ts'
import { style } from './style.ts'

/** The whole page: one file, no script, nothing fetched; a policy in its head holds the browser to that. */
export function renderPage(figures: Figures, made: Date): string {
  const styleHash = hash('sha256', style, 'base64')
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`
  // Written in one piece: a blank more would be another style than the one the policy allows.
  const styleElement = new Html(`<style>${style}</style>`)
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <title>querymill: ${figures.day ?? 'nothing yet'}</title>
        ${styleElement}
      </head>
      <body>
        <main>
          <header>
            <h1>What the answers say</h1>
            <p class="soft">
              ${figures.day === null ? 'No readable answers yet.' : html`Newest day of a run: ${figures.day}.`}
              Made ${made.toISOString().slice(0, 16).replace('T', ' ')} UTC.
            </p>
            ${banner(figures)}
          </header>
          ${tiles(figures)} ${figures.shares.length === 0 ? null : shares(figures)}
          ${figures.domains.map(({ domain, label }) => ranks(figures, domain, label))}
          ${moves(figures)} ${figures.balance.length === 0 ? null : balance(figures)}
          ${runs(figures.runs)}
          <footer>
            Positions are the best place of a domain in an answer. A gap in a line is a day without
            a place among the results, never a place of its own.
          </footer>
        </main>
      </body>
    </html> `
  return page.text
}

function banner({ origins }: Figures): Html | null {
  const others = origins.filter((origin) => origin !== 'live')
  if (others.length === 0) return null
  return html`<p class="banner">
    <strong>Not live.</strong> This page shows ${others.join(' and ')} answers: nobody searched the
    web for them.
  </p>`
}

const number = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

function tiles({ queries, answers, credits, runs: all }: Figures): Html {
  const unread = all.reduce((sum, run) => sum + run.failed + run.unknown, 0)
  const shown = [
    [queries, 'queries answered'],
    [answers, 'answers kept'],
    [credits, 'credits used for them'],
    [unread, 'failed or unknown, last 30 runs'],
  ] as const
  return html`<div class="tiles">
    ${shown.map(
      ([value, text]) => html`<div class="tile"><b>${number.format(value)}</b>${text}</div>`,
    )}
  </div>`
}

const dayOf = (runDate: string): Date => new Date(`${runDate}T00:00:00Z`)

/** One series for each name, in the order in which names first come. */
function group<T>(
  rows: readonly T[],
  name: (row: T) => string,
  point: (row: T) => Point,
): { name: string; points: Point[] }[] {
  const found = new Map<string, Point[]>()
  for (const row of rows) {
    const points = found.get(name(row))
    if (points === undefined) found.set(name(row), [point(row)])
    else points.push(point(row))
  }
  return [...found].map(([named, points]) => ({ name: named, points }))
}

function shares({ shares: rows, tag, domains }: Figures): Html {
  const greatest = Math.max(...rows.map(({ share }) => share), 0.001)
  const chosen = domains.map(({ domain }) => domain)
  const series = group(
    rows,
    ({ domain }) => domain,
    ({ runDate, share }) => ({ at: dayOf(runDate), value: share }),
  ).toSorted((a, b) => Number(chosen.includes(b.name)) - Number(chosen.includes(a.name)))
  const chart = lineChart({
    title: 'Share of voice of the greatest domains and the chosen ones, day by day',
    series,
    width: 1040,
    height: 320,
    range: [0, greatest * 1.05],
    format: (value) => `${Math.round(value * 1000) / 10} %`,
    named: true,
  })
  return html`<section>
    <h2>Share of voice</h2>
    <p class="soft">
      Share of the clicks that each domain's best places would get, by
      weight${tag === '*' ? ', over all queries' : html`, over queries labelled ${tag}`}.
    </p>
    ${chart}
  </section>`
}

function ranks({ ranks: rows }: Figures, domain: string, label: string): Html {
  const own = rows.filter((row) => row.domain === domain)
  const deepest = Math.max(10, ...own.map(({ position }) => position ?? 0))
  const series = group(
    own,
    ({ q }) => q,
    ({ runDate, position }) => ({ at: dayOf(runDate), value: position }),
  )
  const ticks = [1, ...[3, 10, 20, 50, 100].filter((tick) => tick <= deepest)]
  return html`<section>
    <h2>Rank history of ${label}</h2>
    <p class="soft">
      ${label === domain ? null : html`${domain}. `}${series.length === 0 ? 'It was in no answer of this time.' : 'Its heaviest queries; the first place is at the top.'}
    </p>
    <div class="smalls">
      ${series.map(({ name, points }) => {
        const now = points.at(-1)?.value ?? null
        return html`<figure>
          <figcaption>
            ${name} <span class="soft">${now === null ? 'not ranked now' : html`now ${now}`}</span>
          </figcaption>
          ${lineChart({
            title: `Position of ${domain} for ${name}, day by day`,
            series: [{ name, points }],
            width: 330,
            height: 130,
            range: [deepest + 0.5, 0.5],
            format: String,
            ticks,
          })}
        </figure>`
      })}
    </div>
  </section>`
}

function moves({ moves: rows, day, domains }: Figures): Html {
  if (rows.length === 0) {
    return html`<section>
      <h2>Movers</h2>
      <p class="soft">
        Nothing of ${domains.length === 0 ? 'note' : domains.map(({ label }) => label).join(', ')}
        moved on the newest day.
      </p>
    </section>`
  }
  return html`<section>
    <h2>Movers of ${day}</h2>
    <p class="soft">Against the answer before, of the chosen domains; the greatest moves first.</p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>query</th>
            <th class="n">before</th>
            <th class="n">now</th>
            <th>change</th>
            <th>page</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(move)}
        </tbody>
      </table>
    </div>
  </section>`
}

const words: Readonly<Record<string, string>> = {
  up: '▲ up',
  down: '▼ down',
  entered: '▲ entered',
  left: '▼ left',
}

function move({ q, previous, position, change, page, url, title }: Move): Html {
  const word = words[change]
  return html`<tr><td>${q}</td><td class="n">${previous ?? '–'}</td><td class="n">${position ?? '–'}</td><td${word === undefined ? null : html` class="${change}"`}>${word ?? change}${
    previous !== null && position !== null ? html` ${Math.abs(previous - position)}` : null
  }</td><td>${link(url, title ?? page)}<br><span class="soft">${page}</span></td></tr>`
}

function balance({ balance: rows, floor }: Figures): Html {
  const series = group(
    rows,
    ({ account }) => account,
    ({ at, remaining }) => ({ at, value: remaining }),
  )
  const greatest = Math.max(...rows.map(({ remaining }) => remaining), floor ?? 0, 1)
  const least = Math.min(...rows.map(({ remaining }) => remaining), floor ?? greatest)
  // A balance that hardly moved looks flat from nought; the axis says where it begins.
  const from = least > greatest / 2 ? least - (greatest - least) * 0.1 : 0
  const mark =
    floor !== null && floor >= from ? { mark: { value: floor, name: `floor ${floor}` } } : {}
  return html`<section>
    <h2>Credits</h2>
    <p class="soft">
      The balance that answers told, call by
      call${from > 0 ? '; the scale does not begin at nought' : ''}.
    </p>
    ${lineChart({
      title: 'Balance of credits over time',
      series,
      width: 1040,
      height: 240,
      range: [from, greatest > from ? greatest : from + 1],
      format: (value) => compact.format(value),
      named: true,
      ...mark,
    })}
  </section>`
}

function runs(rows: readonly RunFigures[]): Html {
  const heads = ['answered', 'reused', 'failed', 'unknown', 'not done', 'credits']
  return html`<section>
    <h2>Runs</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>run</th>
            <th>list</th>
            <th>day</th>
            <th>state</th>
            <th class="n">queries</th>
            ${heads.map((head) => html`<th class="n">${head}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (run) =>
              html`<tr>
                <td>${run.run}</td>
                <td>${run.list}</td>
                <td>${run.runDate}</td>
                <td>${run.state}</td>
                <td class="n">${number.format(run.tasks)}</td>
                ${[run.answered, run.reused, run.failed, run.unknown, run.left, run.credits].map(
                  (value) => html`<td class="n">${number.format(value)}</td>`,
                )}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`
}
