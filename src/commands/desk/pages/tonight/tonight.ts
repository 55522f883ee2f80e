import { html } from '../../../drawing/html.ts'
import { definePage, type LiveParts, type PagePlace } from '../../page.ts'
import { drawCrew } from './crew.ts'
import { drawDue } from './due.ts'
import { readTonight, type TonightFound } from './found.ts'
import { drawMoney } from './money.ts'
import { drawAlerts, drawNotices } from './news.ts'
import { drawRuns } from './runs.ts'
import { drawState } from './state.ts'

/** How it goes now. */
export const tonight = definePage({
  path: '/',
  nav: 'Tonight',
  ask: () => null,
  read: readTonight,
  show: (found, place) => {
    const parts = drawTonight(found, place)
    const piece = (id: string) => html`<div id="${id}">${parts[id]}</div>`
    return {
      title: 'Tonight',
      plain: true,
      body: html`${piece('state')} ${piece('runs')}
        <div class="pair">
          ${piece('money')}
          <div>${piece('crew')} ${piece('due')}</div>
        </div>
        <div class="pair">${piece('alerts')} ${piece('notices')}</div>`,
    }
  },
  live: async (reading, place) => drawTonight(await readTonight(reading), place),
})

function drawTonight(found: TonightFound, place: PagePlace): LiveParts {
  return {
    state: drawState(found, place),
    runs: drawRuns(found, place),
    money: drawMoney(found, place),
    crew: drawCrew(found, place),
    due: drawDue(found, place),
    alerts: drawAlerts(found, place),
    notices: drawNotices(found, place),
  }
}
