// Draws the frame of every page: header, navigation, banner, footer.

import { groupBy } from '../base/query.ts'
import { formatMinute } from '../base/time/zone.ts'
import type { Assets } from './assets.ts'
import { Html, html } from './drawing/html.ts'
import type { DeskPage, PagePlace, View } from './page.ts'

export interface Frame {
  readonly assets: Assets
  readonly pages: readonly DeskPage[]
  /** The page that is shown; null for a problem page and for the sign-in form. */
  readonly page: DeskPage | null
  /** True if visitors sign in with a password, so that a sign-out form is shown. */
  readonly leave: boolean
  /** Seconds after which the browser reloads the page automatically; null if it does not reload. */
  readonly again: number | null
}

export function layOut(view: View, place: PagePlace | null, frame: Frame): string {
  const { assets, again } = frame
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${again === null ? null : html`<meta http-equiv="refresh" content="${again}" />`}
        <title>${view.title} · querymill</title>
        <link rel="icon" href="${assets.icon.path}" />
        <link rel="stylesheet" href="${assets.style.path}" />
        <script src="${assets.script.path}" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        ${top(frame, place, view.plain === true)}
        <main id="content" tabindex="-1">${drawView(view)}</main>
        ${place === null ? null : foot(place)}
      </body>
    </html>`.text
}

export function drawView(view: View): Html {
  return html`<header class="head">
      <h1 dir="auto">${view.title}</h1>
      ${view.lead === undefined ? null : html`<p class="lead">${view.lead}</p>`}
    </header>
    ${view.body}`
}

function top({ pages, page, leave }: Frame, place: PagePlace | null, plain: boolean): Html {
  const nav = pages.filter((one) => one.nav !== undefined)
  const areas = groupBy(nav, ({ area }) => area)
  const within = areas.get(page?.area) ?? []
  const way = (name: string | undefined, path: string | undefined, here: boolean) =>
    html`<li>
      <a
        href="${place === null ? path : place.href(path ?? '')}"
        ${here ? new Html('aria-current="page"') : null}
        >${name}</a
      >
    </li>`
  return html`<header class="top">
      <nav aria-label="Pages">
        <a class="brand" href="/">querymill</a>
        <ul>
          ${[...areas].map(([area, [first]]) => way(area, first?.path, area === page?.area))}
        </ul>
      </nav>
      ${place === null || plain ? null : notLive(place)}
      ${page?.live === undefined ? null : html`<p class="pulse" id="pulse" role="status" data-live="${page.path}" hidden></p>`}
      ${leave ? html`<form method="post" action="/leave"><button>Log out</button></form>` : null}
    </header>
    ${
      within.length < 2
        ? null
        : html`<nav class="within" aria-label="${page?.area}">
            <ul>
              ${within.map((one) => way(one.nav, one.path, one === page))}
            </ul>
          </nav>`
    }`
}

/** Draws a small banner if a page shows answers that are not live. */
export function notLive({ origins }: PagePlace): Html | null {
  const shown = origins.split(',')
  const others = shown.filter((origin) => origin !== 'live').map((other) => other.toUpperCase())
  if (others.length === 0) return null
  const words = others.join(' and ')
  return html`<p class="mark-origin" title="These answers do not come from a live search.">
    ${shown.includes('live') ? 'Partly not live' : 'Not live'}: ${words} answers
  </p>`
}

function foot({ zone, origins, suspects, href, path, filters }: PagePlace): Html {
  const again = Object.fromEntries(filters)
  const other = suspects
    ? html`Suspect nights are shown.
        <a href="${href(path, { ...again, suspects: null })}">Exclude them</a>`
    : html`Suspect nights are left out of shares and trends.
        <a href="${href(path, { ...again, suspects: 'show' })}">Show them</a>`
  return html`<footer class="foot">
    <p>
      As of <time>${formatMinute(zone, new Date())}</time>; all times are in ${zone}. Answer origins
      shown: ${origins.replaceAll(',', ', ')}. ${other}
    </p>
    <p>The desk only reads the tables and never changes them.</p>
  </footer>`
}
