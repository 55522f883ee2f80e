import { formatMinute } from '../base/time/zone.ts'
import type { Assets } from './assets.ts'
import { Html, html } from './drawing/html.ts'
import type { PagePlace, View } from './page.ts'

/** What stands around every page. */
export interface Frame {
  readonly assets: Assets
  /** The name of each page of the navigation, and where it lies. */
  readonly nav: readonly {
    readonly name: string
    readonly path: string
    readonly href: string | null
  }[]
  /** The path of the page itself, as its recipe has it. */
  readonly path: string
  /** Null: nobody had to show a password. */
  readonly leave: boolean
  /** True: parts of the page change while it is looked at. */
  readonly live: boolean
  /** Seconds after which the browser asks again by itself; null: never. */
  readonly again: number | null
}

/** A whole page around a view: what it says, where one is, what is left out. */
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
        ${top(frame)}
        <main id="content" tabindex="-1">${drawView(view, place)}</main>
        ${place === null ? null : foot(place)}
      </body>
    </html>`.text
}

/** What a view says, below its title. */
export function drawView(view: View, place: PagePlace | null): Html {
  return html`<header class="head">
      <h1 dir="auto">${view.title}</h1>
      ${view.lead === undefined ? null : html`<p class="lead">${view.lead}</p>`}
    </header>
    ${place === null || view.plain === true ? null : notLive(place)} ${view.body}`
}

function top({ nav, path, leave, live }: Frame): Html {
  const here = nav
    .filter((one) => (one.path === '/' ? path === '/' : path.startsWith(one.path)))
    .toSorted((a, b) => b.path.length - a.path.length)[0]
  return html`<header class="top">
    <nav aria-label="Pages">
      <a class="brand" href="/">querymill</a>
      <ul>
        ${nav.map(
          (one) =>
            html`<li>
              <a href="${one.href}" ${one === here ? new Html('aria-current="page"') : null}
                >${one.name}</a
              >
            </li>`,
        )}
      </ul>
    </nav>
    ${live ? html`<p class="pulse" id="pulse" role="status" data-live="${path}" hidden></p>` : null}
    ${leave ? html`<form method="post" action="/leave"><button>Log out</button></form>` : null}
  </header>`
}

/** What is not live must never look as if it were. */
function notLive({ origins }: PagePlace): Html | null {
  const others = origins.split(',').filter((origin) => origin !== 'live')
  if (others.length === 0) return null
  return html`<p class="banner">
    <strong>Not live.</strong> ${others.map((other) => other.toUpperCase()).join(' and ')} answers
    are shown${origins.split(',').includes('live') ? ' beside live ones' : null}: nobody searched
    the web for them.
  </p>`
}

function foot({ zone, origins, suspects, href, path, filters }: PagePlace): Html {
  const again = Object.fromEntries(filters)
  const other = suspects
    ? html`Suspect nights are shown.
        <a href="${href(path, { ...again, suspects: null })}">Leave them out</a>`
    : html`Suspect nights are left out of shares and trends.
        <a href="${href(path, { ...again, suspects: 'show' })}">Show them</a>`
  return html`<footer class="foot">
    <p>
      Read <time>${formatMinute(zone, new Date())}</time>; all times in ${zone}. Kinds of answers
      shown: ${origins.replaceAll(',', ', ')}. ${other}
    </p>
    <p>The desk reads the tables and changes nothing.</p>
  </footer>`
}
