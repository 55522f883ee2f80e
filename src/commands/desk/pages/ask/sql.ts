import { Misuse } from '../../../../shared/errors.ts'
import { writeRows } from '../../../export/rows.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { BadAddress, type PageAddress } from '../../address.ts'
import { definePage, type FilePage, type PagePlace } from '../../page.ts'
import { nothing, to } from '../../../drawing/parts.ts'
import { keptFilters } from '../choose.ts'
import { askFor, askForAll, expectStrangers, type AskedRows, type Limits } from './answer.ts'
import { drawAnswer, drawRefusal } from './draw.ts'

const example = `select run_date, answered, planned
from analysis.days
order by run_date`

interface SqlAsked extends Limits {
  readonly text: string | null
}

function askTyped(address: PageAddress): SqlAsked {
  return {
    text: address.text('text'),
    seconds: address.whole('seconds', { fallback: 15, most: 60 }),
    rows: address.whole('rows', { fallback: 200, most: 2000 }),
  }
}

/** SQL of one's own, as the role that may only read. */
export const sqlPage = definePage({
  path: '/sql',
  ask: askTyped,
  read: async (reading, { text, ...limits }) => {
    const { walled } = reading
    if (text === null) return { asked: null, refusal: null, walled }
    try {
      await expectStrangers(reading, text)
      return { asked: await askFor(reading, { text }, limits), refusal: null, walled }
    } catch (error) {
      if (error instanceof Misuse) return { asked: null, refusal: error.message, walled }
      throw error
    }
  },
  show: ({ asked, refusal, walled }, place, typed) => ({
    title: 'SQL',
    lead: html`${to(place.href('/ask'), 'The library')} · one statement that reads, as
    ${walled ? 'a login that may only read' : 'the role that may only read'}. Leaving the page, or
    pressing stop in the browser, ends it.`,
    body: html`${form(typed, place)} ${walled ? null : unwalled}
    ${refusal === null ? null : drawRefusal(refusal)}
    ${asked === null ? (refusal === null ? notYet : null) : answer(asked, typed, place)}`,
  }),
})

const unwalled = html`<p class="soft">
  The desk is connected as the user of DATABASE_URL, who acts as that role: words by which a
  statement could leave it are refused. <code>MILL_ANALYST_URL</code> gives statements a login of
  their own.
</p>`

const notYet = nothing(
  'The answer would be here. Views of analysis.* and tables may be read, docs/schema.md names each column; in a terminal the same goes by',
  'npm run sql',
)

function answer(asked: AskedRows, { text, seconds }: SqlAsked, place: PagePlace): Html {
  const file = place.href('/sql/rows.csv', { text, seconds })
  return drawAnswer(asked, { place, title: 'Answer', file })
}

function form({ text, seconds, rows }: SqlAsked, place: PagePlace): Html {
  return html`<form class="filters" method="get" action="/sql" aria-label="SQL">
    ${keptFilters(place)}
    <label class="wide whole"
      >SQL
      <textarea name="text" rows="8" maxlength="8000" spellcheck="false" required>
${text ?? example}</textarea>
    </label>
    <label
      >Seconds at most <input type="number" name="seconds" min="1" max="60" value="${seconds}"
    /></label>
    <label
      >Rows at most <input type="number" name="rows" min="1" max="2000" value="${rows}"
    /></label>
    <button class="main">Ask</button>
  </form>`
}

/** The answer as a file. */
export const sqlFile: FilePage = {
  path: '/sql/rows.csv',
  send: async (address, reading) => {
    const { text, seconds } = askTyped(address)
    if (text === null) throw new BadAddress('text: expected SQL, got nothing.')
    await expectStrangers(reading, text)
    const pieces = writeRows(askForAll(reading, { text, values: [] }, seconds), 'csv')
    return { type: 'text/csv; charset=utf-8', name: 'answer.csv', pieces }
  },
}
