import { hash } from 'node:crypto'
import type { Figures, RunFigures } from '../../store/analysis/figures.ts'
import type { Move } from '../../store/analysis/ranks.ts'
import { balance, ranks, shares } from './history.ts'
import { html, Html, link } from './html.ts'
import { noteList } from './notes.ts'
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
          ${tiles(figures)} ${noteList(figures.notes)}
          ${figures.shares.length === 0 ? null : shares(figures)}
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

function moves({ moves: rows, day, domains, compared }: Figures): Html {
  if (!compared) {
    return html`<section>
      <h2>Movers</h2>
      <p class="soft">
        No query has been answered twice yet: moves show from the second answer on.
      </p>
    </section>`
  }
  if (rows.length === 0) {
    return html`<section>
      <h2>Movers</h2>
      <p class="soft">
        Nothing of ${domains.length === 0 ? 'note' : domains.map(({ label }) => label).join(', ')}
        moved on ${day}, the newest full day.
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

function move({ q, variant, previous, position, change, page, url, title }: Move): Html {
  const word = words[change]
  return html`<tr><td>${q}${variant === '' ? null : html` <span class="soft">${variant}</span>`}</td><td class="n">${previous ?? '–'}</td><td class="n">${position ?? '–'}</td><td${word === undefined ? null : html` class="${change}"`}>${word ?? change}${
    previous !== null && position !== null ? html` ${Math.abs(previous - position)}` : null
  }</td><td>${link(url, title ?? page)}<br><span class="soft">${page}</span></td></tr>`
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
                <td class="list">${run.list}</td>
                <td class="word">${run.runDate}</td>
                <td class="word">${run.state}</td>
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
