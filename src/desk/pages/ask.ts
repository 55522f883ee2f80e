// The page Ask: runs a library query or typed SQL, and shows the result as chart and table.

import { npmRun } from '../../base/cli/commands.ts'
import { count, typed as typedWord } from '../../base/cli/text.ts'
import type { CellBatch, CellColumn } from '../../base/database/fetch.ts'
import { findReader } from '../../base/database/reader-role.ts'
import { Misuse } from '../../base/errors.ts'
import { dayOf, isDay } from '../../base/time/zone.ts'
import { expectHarmless, type Inquiry, readBatches } from '../../features/analysis/ask.ts'
import {
  bindQuestion,
  type Question,
  readQuestions,
  type SqlQuestion,
} from '../../features/analysis/library.ts'
import { writeRows } from '../../features/analysis/rows.ts'
import { BadAddress, NotThere, type PageAddress } from '../address.ts'
import { type Html, html } from '../drawing/html.ts'
import { drawPicture, type Point } from '../drawing/lines.ts'
import { given, nothing, section, table, to, unknown } from '../drawing/parts.ts'
import { definePage, type DeskReading, type FilePage, type PagePlace } from '../page.ts'
import { chooser, keptFilters, textField } from './choose.ts'
import { toDomain } from './ways.ts'

/** A result: as a chart if possible, as a table, and with a link to a file. */
function drawAnswer(
  asked: AskedRows,
  { place, title, file }: { place: PagePlace; title: string; file: string | null },
): Html {
  const { rows, more, ms, warnings } = asked
  const seconds = (ms / 1000).toFixed(ms < 10_000 ? 2 : 0)
  const size = html`${more ? 'the first ' : null}${count(rows.length, 'row')}`
  return section(
    {
      id: 'answer',
      title: 'Answer',
      about: html`${size} in ${seconds} s · ${to(file, 'all of it as CSV')}`,
    },
    html`${warnings.map((line) => html`<p class="soft">${line}</p>`)} ${picture(asked, title)}
    ${rows.length === 0 ? nothing('No rows match.', null) : answerTable(asked, place)}`,
  )
}

function answerTable({ columns, rows }: AskedRows, place: PagePlace): Html {
  const all = columns.map((column, index) => ({
    head: column.name,
    ...(column.kind === 'number' ? { number: true as const } : {}),
    cell: (row: readonly (string | null)[]) => cellOf(column.name, row[index] ?? null, place),
  }))
  return table('Rows of the answer', all, rows)
}

/** Domains link to their pages; other cells are text. */
function cellOf(name: string, text: string | null, place: PagePlace): Html {
  if (text === null) return unknown
  return /^(domain|rival|loser|taker|own_domain)$/.test(name) ? toDomain(place, text) : given(text)
}

function drawSql(text: string, line: string | null): Html {
  return section(
    {
      id: 'sql',
      title: 'The SQL behind it',
      about: 'As in the library; $1, $2 … are the values above, in their order.',
    },
    html`${line === null ? null : html`<p><code class="command" data-copy>${line}</code></p>`}
      <pre tabindex="0" aria-label="SQL"><code data-copy>${text.trim()}</code></pre>`,
  )
}

function drawRefusal(reason: string): Html {
  return html`<section class="problem" role="alert"><p>${reason}</p></section>`
}

/** The page with the query library and a form for SQL. */
export const askPage = definePage({
  path: '/ask',
  nav: 'Ask',
  ask: (address) => ({ word: address.text('word')?.toLowerCase() ?? null }),
  read: async (_, { word }) =>
    readQuestions().filter(
      ({ name, asks }) => word === null || `${name} ${asks}`.toLowerCase().includes(word),
    ),
  show: (questions, place, { word }) => ({
    title: 'Ask',
    lead: html`Ready-made questions, and ${to(place.href('/sql'), 'SQL of your own')}.`,
    body: html`${chooser(
      { place, name: 'Find a question' },
      textField({ name: 'word', label: 'A word of the question', value: word }),
      'Find',
    )}
    ${word === null ? drawUsual(questions, place) : null}
    ${questions.length === 0 ? nothing('No question of the library has this word.', null) : drawLibrary(questions, word, place)}
    ${elsewhere}`,
  }),
})

const elsewhere = nothing('The same in a terminal, as a table, CSV or JSON:', npmRun('sql'))

/** Questions of most mornings, with the flags of an example. */
const usual: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'ranks-losses': {},
  'ranks-reach': { top: '20' },
  domains: { days: '7', top: '20' },
  'domains-takers': { days: '7' },
  'domains-gaps': { top: '50' },
  'pages-titles': { fell: 'yes' },
  nights: { days: '14' },
}

function drawUsual(questions: readonly Question[], place: PagePlace): Html {
  const shown = Object.entries(usual).flatMap(([name, flags]) => {
    const asks = questions.find((question) => question.name === name)?.asks
    return asks === undefined ? [] : [{ name, flags, asks }]
  })
  return section(
    { id: 'usual', title: 'Asked most mornings' },
    html`<ul class="lines">
      ${shown.map(
        ({ name, flags, asks }) =>
          html`<li>
            ${to(place.href(`/ask/${name}`, { ...flags, go: 1 }), asks)}<br />
            <code class="soft">${lineOf(name, new Map(Object.entries(flags)))}</code>
          </li>`,
      )}
    </ul>`,
  )
}

/** The whole library; folded unless a word was searched for. */
function drawLibrary(questions: readonly Question[], word: string | null, place: PagePlace): Html {
  return html`<details id="library" ${word === null ? null : html`open`}>
    <summary>
      ${word === null ? html`All ${questions.length} questions` : html`${count(questions.length, 'question')} with “${word}”`}
    </summary>
    <ul class="questions">
      ${questions.map(
        ({ name, asks }) =>
          html`<li>${to(place.href(`/ask/${name}`), asks)} <span class="soft">${name}</span></li>`,
      )}
    </ul>
  </details>`
}

const dateType = 1082
const mostLines = 8

/** A result with days and a number for each as lines over time; null if no chart fits. */
function picture({ columns, rows }: AskedRows, title: string): Html | null {
  const day = columns.findIndex(({ type }) => type === dateType)
  const value = columns.findIndex(({ kind }) => kind === 'number')
  if (day === -1 || value === -1) return null
  const names = columns.flatMap(({ kind, type }, index) =>
    kind === 'text' && type !== dateType ? [index] : [],
  )
  const lines = linesOf(rows, { day, value, names: names.slice(0, 2) })
  if (lines === null) return null
  const values = [...lines.values()].flat().map((point) => point.value ?? 0)
  const column = columns[value]?.name ?? ''
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  // Rank 1 is at the top.
  const range = /position|rank$/.test(column)
    ? ([Math.max(10, most) + 0.5, 0.5] as const)
    : ([least, most === least ? least + 1 : most * 1.05] as const)
  const chart = {
    title: `${title} (${column})`,
    series: [...lines].map(([name, points]) => ({ name: name === '' ? column : name, points })),
    grain: 'day' as const,
    width: 1040,
    height: 280,
    range,
    format: (number: number) =>
      new Intl.NumberFormat('en', { maximumFractionDigits: 4 }).format(number),
    named: true,
    hover: true,
  }
  return drawPicture(chart, { name: `${title}, as a picture` })
}

/** One line per name; null if a day has two values, there are too many lines, or there is only one day. */
function linesOf(
  rows: AskedRows['rows'],
  { day, value, names }: { day: number; value: number; names: readonly number[] },
): ReadonlyMap<string, Point[]> | null {
  const lines = new Map<string, Map<string, number | null>>()
  const days = new Set<string>()
  for (const row of rows) {
    const date = row[day] ?? null
    if (date === null || !/^\d{4}-\d\d-\d\d$/.test(date)) return null
    const name = names
      .map((index) => row[index] ?? '')
      .filter((text) => text !== '')
      .join(', ')
    const line = lines.get(name) ?? new Map<string, number | null>()
    if (line.has(date)) return null
    const number = row[value] ?? null
    line.set(date, number === null || !Number.isFinite(Number(number)) ? null : Number(number))
    lines.set(name, line)
    if (lines.size > mostLines) return null
    days.add(date)
  }
  if (days.size < 2) return null
  const inOrder = [...days].toSorted()
  return new Map(
    [...lines].map(([name, line]) => [
      name,
      inOrder.map((date) => ({ at: dayOf(date), value: line.get(date) ?? null })),
    ]),
  )
}

type FormValues = ReadonlyMap<string, string>

/** Flags offered in the form; two separate days replace --between. */
const offered = ({ narrows }: Question) => narrows.filter((flag) => flag !== 'between')

const dayNames = ['day', 'since', 'until']

/** Values of a query's form from the address; rejects an invalid day. */
function readTyped(question: Question, address: PageAddress): FormValues {
  const names = [...question.parameters.map(({ name }) => name), ...offered(question)]
  const typed = new Map<string, string>()
  for (const name of names) {
    const text = address.text(name)
    if (text === null) continue
    if (dayNames.includes(name) && text !== 'newest' && !isDay(text)) {
      throw new BadAddress(
        `${name}: expected a day like 2026-11-22, got ${JSON.stringify(text.slice(0, 60))}.`,
      )
    }
    typed.set(name, text)
  }
  return typed
}

function flagsOf(typed: FormValues): readonly string[] {
  return [...typed].map(([name, value]) => `--${name}=${value}`)
}

function lineOf(name: string, typed: FormValues): string {
  const flags = [...typed].map(([flag, value]) => ` --${flag} ${typedWord(value)}`)
  return `${npmRun('sql --')} ${name}${flags.join('')}`
}

/** True if no required value is missing. */
function isWhole({ parameters }: Question, typed: FormValues): boolean {
  return parameters.every(({ name, fallback }) => fallback !== undefined || typed.has(name))
}

/** Fields for the parameters, and for flags that restrict the data. */
function drawForm(question: Question, typed: FormValues, place: PagePlace): Html {
  return html`<form
    class="filters"
    method="get"
    action="/ask/${question.name}"
    aria-label="What to ask"
  >
    ${keptFilters(place)} <input type="hidden" name="go" value="1" />
    ${question.parameters.map((parameter) => field(parameter, typed))} ${narrowing(question, typed)}
    <button class="main">Ask</button>
  </form>`
}

function field(
  { name, meaning, fallback }: Question['parameters'][number],
  typed: FormValues,
): Html {
  const must = fallback === undefined ? html`required` : null
  return html`<label
    >${name} <span class="meaning">${meaning}</span>
    <input
      name="${name}"
      value="${typed.get(name) ?? ''}"
      placeholder="${fallback ?? ''}"
      dir="auto"
      autocomplete="off"
      ${must}
  /></label>`
}

function narrowing(question: Question, typed: FormValues): Html | null {
  const narrows = offered(question)
  if (narrows.length === 0) return null
  const open = narrows.some((name) => typed.has(name)) ? html`open` : null
  return html`<details class="narrow" ${open}>
    <summary>Only some queries${narrows.includes('since') ? ' or days' : ''}</summary>
    <div class="filters">
      ${narrows.map(
        (name) =>
          html`<label
            >${name}
            <input
              name="${name}"
              value="${typed.get(name) ?? ''}"
              type="${dayNames.includes(name) ? 'date' : 'text'}"
              dir="auto"
              autocomplete="off"
          /></label>`,
      )}
    </div>
  </details>`
}

/** Limits concurrent queries, because the desk's few connections are needed by other pages, too. */
class Turns {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Runs work in a slot; rejects it if all slots are in use. */
  async *during<T>(work: () => AsyncIterable<T>): AsyncGenerator<T> {
    if (this.#taken >= this.#most) {
      throw new Misuse(
        `${this.#most} questions are running, which is the maximum; ask again when one has ended`,
      )
    }
    this.#taken++
    try {
      yield* work()
    } finally {
      this.#taken--
    }
  }
}

interface Limits {
  readonly seconds: number
  readonly rows: number
}

/** The first rows of a result, for a page. */
interface AskedRows {
  readonly columns: readonly CellColumn[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** True if there are more rows than shown. */
  readonly more: boolean
  readonly ms: number
  /** Warnings for the reader, such as which day is the newest. */
  readonly warnings: readonly string[]
}

const turns = new Turns(2)
const longestCell = 2_000
const longestFileCell = 32_000
const mostCharacters = 3_000_000

/** Checks SQL typed by a visitor: rejects it if it could do more than read, or if there is no read-only role. */
async function expectStrangers(reading: DeskReading, text: string): Promise<void> {
  expectHarmless(text)
  if ((await findReader(reading.pool)) !== null) return
  throw new Misuse(
    `expected a read-only role, got none in this database; ${npmRun('migrate')} creates it if its user may create roles`,
  )
}

function inquiryOf(reading: DeskReading, question: SqlQuestion, seconds: number): Inquiry {
  const { origins, suspects, signal } = reading
  const timeoutMs = seconds * 1000
  return { ...question, timeoutMs, origins, suspects, signal, warn: () => undefined }
}

/** Reads the first rows of a result. Cancelled if the visitor leaves or presses stop. */
async function askFor(
  reading: DeskReading,
  question: SqlQuestion,
  { seconds, rows: most }: Limits,
): Promise<AskedRows> {
  const warnings: string[] = []
  const warn = (line: string) => void warnings.push(line)
  const inquiry = { ...inquiryOf(reading, question, seconds), cell: longestCell, warn }
  const rows: (readonly (string | null)[])[] = []
  let columns: readonly CellColumn[] = []
  let characters = 0
  const begun = performance.now()
  for await (const batch of turns.during(() => readBatches(reading.pool, inquiry))) {
    columns = batch.columns
    for (const row of batch.rows) {
      if (rows.length > most || characters > mostCharacters) break
      rows.push(row)
      for (const cell of row) characters += cell?.length ?? 0
    }
    if (rows.length > most || characters > mostCharacters) break
  }
  const more = rows.length > most || characters > mostCharacters
  return { columns, rows: rows.slice(0, most), more, ms: performance.now() - begun, warnings }
}

/** Maximum rows in a file; a download with more rows is aborted. */
const mostFileRows = 1_000_000

/** Reads a whole result in batches, for a file. */
async function* askForAll(
  reading: DeskReading,
  question: SqlQuestion,
  seconds: number,
): AsyncGenerator<CellBatch> {
  const inquiry = { ...inquiryOf(reading, question, seconds), cell: longestFileCell }
  let rows = 0
  for await (const batch of turns.during(() => readBatches(reading.pool, inquiry))) {
    rows += batch.rows.length
    if (rows > mostFileRows) {
      throw new Misuse(
        `expected at most ${mostFileRows} rows, got more; ${npmRun('export')} has no such limit`,
      )
    }
    yield batch
  }
}

const askLimits = { seconds: 30, rows: 500 }
const fileSeconds = 120

interface QuestionFound {
  readonly asked: AskedRows | null
  /** Why there is no result; null if there is one, or no query was run. */
  readonly refusal: string | null
}

function expectQuestion(address: PageAddress): Question {
  const name = address.part('question')
  const found = readQuestions().find((question) => question.name === name)
  if (found !== undefined) return found
  throw new NotThere(`The library has no question ${JSON.stringify(name.slice(0, 60))}.`)
}

function askTyped(address: PageAddress) {
  const question = expectQuestion(address)
  return { question, typed: readTyped(question, address), go: address.ticked('go') }
}

/** A library query: a form for its parameters, and its result. */
export const questionPage = definePage({
  path: '/ask/:question',
  area: 'Ask',
  ask: askTyped,
  read: async (reading, { question, typed, go }): Promise<QuestionFound> => {
    if (!go || !isWhole(question, typed)) return { asked: null, refusal: null }
    return answered(reading, question, typed)
  },
  show: ({ asked, refusal }, place, { question, typed }) => {
    const file = place.href(`/ask/${question.name}/rows.csv`, Object.fromEntries(typed))
    const title = question.asks
    return {
      title,
      lead: html`${to(place.href('/ask'), 'The library')} · ${question.name}`,
      body: html`${drawForm(question, typed, place)}
      ${refusal === null ? null : drawRefusal(refusal)}
      ${asked === null ? (refusal === null ? notYet : null) : drawAnswer(asked, { place, title, file })}
      ${drawSql(question.sql, lineOf(question.name, typed))}`,
    }
  },
})

const notYet = nothing(
  'Press Ask: the answer is shown here as a table, and as a chart if possible.',
  null,
)

async function answered(
  reading: DeskReading,
  question: Question,
  typed: FormValues,
): Promise<QuestionFound> {
  try {
    const asked = await askFor(reading, bindQuestion(question, flagsOf(typed)), askLimits)
    return { asked, refusal: null }
  } catch (error) {
    if (error instanceof Misuse) return { asked: null, refusal: error.message }
    throw error
  }
}

/** Result of a library query as a file. */
export const questionFile: FilePage = {
  path: '/ask/:question/rows.csv',
  send: async (address, reading) => {
    const { question, typed } = askTyped(address)
    const asked = bindQuestion(question, flagsOf(typed))
    const pieces = writeRows(askForAll(reading, asked, fileSeconds), 'csv')
    return { type: 'text/csv; charset=utf-8', name: `${question.name}.csv`, pieces }
  },
}

const example = `select run_date, answered, planned
from analysis.days
order by run_date`

interface SqlAsked extends Limits {
  readonly text: string | null
}

function askTypedSql(address: PageAddress): SqlAsked {
  return {
    text: address.text('text'),
    seconds: address.whole('seconds', { fallback: 15, most: 60 }),
    rows: address.whole('rows', { fallback: 200, most: 2000 }),
  }
}

/** Typed SQL, run in the read-only role. */
export const sqlPage = definePage({
  path: '/sql',
  nav: 'SQL',
  area: 'Operations',
  ask: askTypedSql,
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
    lead: html`${to(place.href('/ask'), 'The library')} · one read-only statement, run as
    ${walled ? 'a read-only login' : 'the read-only role'}. Leaving the page or pressing stop in the
    browser cancels it.`,
    body: html`${form(typed, place)} ${walled ? null : unwalled}
    ${refusal === null ? null : drawRefusal(refusal)}
    ${asked === null ? (refusal === null ? noSqlYet : null) : answer(asked, typed, place)}`,
  }),
})

const unwalled = html`<p class="soft">
  The desk connects as the user of DATABASE_URL and switches to that role; words that could let a
  statement leave the role are refused. With <code>MILL_ANALYST_URL</code>, statements use a login
  of their own.
</p>`

const noSqlYet = nothing(
  'The answer will be shown here. You can query the views of analysis.* and the tables; docs/schema.md describes each column. In a terminal:',
  npmRun('sql'),
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
      >Maximum seconds <input type="number" name="seconds" min="1" max="60" value="${seconds}"
    /></label>
    <label
      >Maximum rows <input type="number" name="rows" min="1" max="2000" value="${rows}"
    /></label>
    <button class="main">Ask</button>
  </form>`
}

export const sqlFile: FilePage = {
  path: '/sql/rows.csv',
  send: async (address, reading) => {
    const { text, seconds } = askTypedSql(address)
    if (text === null) throw new BadAddress('text: expected SQL, got nothing.')
    await expectStrangers(reading, text)
    const pieces = writeRows(askForAll(reading, { text, values: [] }, seconds), 'csv')
    return { type: 'text/csv; charset=utf-8', name: 'answer.csv', pieces }
  },
}
