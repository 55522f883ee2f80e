import { html } from '../../report/html.ts'
import { readTables } from '../../status/look.ts'
import { nextStep } from '../../status/screen.ts'
import { definePage } from '../page.ts'
import { command, figure, tiles } from '../parts.ts'

/** How it goes now. */
export const tonight = definePage({
  path: '/',
  nav: 'Tonight',
  ask: () => null,
  read: (reading) => reading.books((db) => readTables({ ...reading.mill, db }, null)),
  show: (found) => ({
    title: 'Tonight',
    body: html`<div id="now">
      ${tiles([
        {
          text: 'credits left',
          value: figure('account.remaining', found.account?.remaining ?? null),
        },
        { text: 'floor', value: figure('account.floor', found.floor) },
      ])}
      <p>Next: ${command(nextStep(found))}</p>
    </div>`,
  }),
})
