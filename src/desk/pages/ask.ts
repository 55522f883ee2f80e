// The Ask page: runs a question from the library or SQL from a form, and shows the result as a chart and a table.

import { npmRun } from '../../base/cli/commands.ts'
import { count, typed as typedWord } from '../../base/cli/text.ts'
import type { CellBatch, CellColumn } from '../../base/database/fetch.ts'
import { findReader } from '../../base/database/reader-role.ts'
import { Misuse } from '../../base/errors.ts'
import { groupBy } from '../../base/query.ts'
import { dayOf, isDay } from '../../base/time/zone.ts'
import { expectHarmless, readBatches } from '../../features/analysis/ask.ts'
import {
  bindQuestion,
  type Question,
  readQuestions,
  type SqlQuestion,
} from '../../features/analysis/library.ts'
import { writeRows } from '../../features/analysis/rows.ts'
import { BadAddress, NotThere, type PageAddress } from '../address.ts'
import { element, type Html, html } from '../drawing/html.ts'
import { drawPicture } from '../drawing/lines.ts'
import { command, given, lines, nothing, section, to, unknown } from '../drawing/parts.ts'
import { column, table } from '../drawing/tables.ts'
import { definePage, type DeskReading, type FilePage, type PagePlace } from '../page.ts'
import { chooser, hiddenField, moreFields, textField } from './choose.ts'
import { toDomain } from './ways.ts'

function drawResult(
  { asked, refusal }: Awaited<ReturnType<typeof readFound>>,
  title: string,
  { place, file, before }: { place: PagePlace; file: string | null; before: Html },
): Html {
  if (refusal !== null) {
    return html`<section class="problem" role="alert"><p>${refusal}</p></section>`
  }
  if (asked === null) return before
  const { rows, columns, more, ms, warnings } = asked
  const seconds = (ms / 1000).toFixed(ms < 10_000 ? 2 : 0)
  const cells = columns.map(({ name, kind }, index) =>
    column[kind === 'number' ? 'right' : 'plain'](name, (row: AskedRows['rows'][number]) =>
      cellOf(name, row[index] ?? null, place),
    ),
  )
  return section(
    {
      id: 'answer',
      title: 'Answer',
      about: html`${more ? 'the first ' : null}${count(rows.length, 'row')} in ${seconds} s ·
      ${to(file, 'all rows as CSV')}`,
    },
    html`${warnings.map((line) => html`<p class="soft">${line}</p>`)} ${picture(asked, title)}
    ${rows.length === 0 ? nothing('No rows match.') : table('Rows in the answer', rows, cells)}`,
  )
}

function cellOf(name: string, text: string | null, place: PagePlace): Html {
  if (text === null) return unknown
  return /^(domain|rival|loser|taker|own_domain)$/.test(name) ? toDomain(place, text) : given(text)
}

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
    lead: html`Ask a predefined question, or write ${to(place.href('/sql'), 'your own SQL')}.`,
    body: html`${chooser({ place, name: 'Find a question' }, [textField('word', 'A word in the question')], 'Find')}
    ${word === null ? drawUsual(questions, place) : null}
    ${questions.length === 0 ? nothing('No questions contain this word.') : drawLibrary(questions, word, place)}
    ${elsewhere}`,
  }),
})

const elsewhere = nothing('To get the answer in a terminal as a table, CSV or JSON:', npmRun('sql'))

/** Questions that are useful on most mornings, with example flags. */
const usual: Readonly<Record<string, FormValues>> = {
  'ranks-losses': {},
  'ranks-reach': { top: '20' },
  domains: { days: '7', top: '20' },
  'domains-takers': { days: '7' },
  'domains-gaps': { top: '50' },
  'pages-titles': { fell: 'yes' },
  nights: { days: '14' },
}

function drawUsual(questions: readonly Question[], place: PagePlace): Html {
  const shown = questions.flatMap(({ name, asks }) => {
    const flags = usual[name]
    if (flags === undefined) return []
    return html`${to(place.href(`/ask/${name}`, { ...flags, go: 1 }), asks)}<br />
      <code class="soft">${lineOf(name, flags)}</code>`
  })
  return section({ id: 'usual', title: 'Everyday questions' }, lines(shown))
}

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

/** Draws a line chart of daily numbers. Returns null for too many lines, a single day, or two values for one day. */
function picture({ columns, rows }: AskedRows, title: string): Html | null {
  const day = columns.findIndex(({ type }) => type === dateType)
  const value = columns.findIndex(({ kind }) => kind === 'number')
  if (day === -1 || value === -1) return null
  const names = columns
    .flatMap(({ kind, type }, index) => (kind === 'text' && type !== dateType ? [index] : []))
    .slice(0, 2)
  const points = rows.map((row) => ({
    date: row[day] ?? '',
    name: names.flatMap((index) => ((row[index] ?? '') === '' ? [] : [row[index]])).join(', '),
    value: numberIn(row[value] ?? null),
  }))
  const drawn = [...groupBy(points, ({ name }) => name)]
  const days = [...new Set(points.map(({ date }) => date))].toSorted()
  const repeats = drawn.some(([, own]) => new Set(own.map(({ date }) => date)).size < own.length)
  if (repeats || drawn.length > mostLines || days.length < 2 || !days.every(isDay)) return null
  const head = columns[value]?.name ?? ''
  const values = points.map((point) => point.value ?? 0)
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)]
  return drawPicture(
    {
      title: `${title} (${head})`,
      series: drawn.map(([name, own]) => ({
        name: name === '' ? head : name,
        points: days.map((date) => ({
          at: dayOf(date),
          value: own.find((point) => point.date === date)?.value ?? null,
        })),
      })),
      ...{ height: 280, named: true },
      // Rank 1 is at the top.
      range: /position|rank$/.test(head)
        ? [Math.max(10, most) + 0.5, 0.5]
        : [least, most === least ? least + 1 : most * 1.05],
      format: (number) => figures.format(number),
    },
    { name: `${title}, as a chart` },
  )
}

const figures = new Intl.NumberFormat('en', { maximumFractionDigits: 4 })

function numberIn(text: string | null): number | null {
  return text === null || !Number.isFinite(Number(text)) ? null : Number(text)
}

type FormValues = Readonly<Record<string, string>>

/** Flags in the form. Two date fields replace `--between`. */
const offered = ({ narrows }: Question) => narrows.filter((flag) => flag !== 'between')

const dayNames = ['day', 'since', 'until']

function readTyped(question: Question, address: PageAddress): FormValues {
  const names = [...question.parameters.map(({ name }) => name), ...offered(question)]
  const typed: Record<string, string> = {}
  for (const name of names) {
    const isDayName = dayNames.includes(name) && address.text(name) !== 'newest'
    const text = isDayName ? address.day(name) : address.text(name)
    if (text !== null) typed[name] = text
  }
  return typed
}

function bindTyped(question: Question, typed: FormValues) {
  const flags = Object.entries(typed).map(([name, value]) => `--${name}=${value}`)
  return bindQuestion(question, flags)
}

function lineOf(name: string, typed: FormValues): string {
  const flags = Object.entries(typed).map(([flag, value]) => ` --${flag} ${typedWord(value)}`)
  return `${npmRun('sql --')} ${name}${flags.join('')}`
}

function drawForm(question: Question, typed: FormValues, place: PagePlace): Html {
  const parameters = question.parameters.map(({ name, meaning, fallback }) =>
    textField(name, html`${name} <span class="meaning">${meaning}</span>`, {
      placeholder: fallback ?? '',
      required: fallback === undefined,
    }),
  )
  const narrows = offered(question)
  const title = `Filter by query${narrows.includes('since') ? ' or day' : ''}`
  const more = moreFields(
    title,
    narrows.some((name) => name in typed),
    narrows.map((name) =>
      textField(name, name, { type: dayNames.includes(name) ? 'date' : 'text' }),
    ),
  )
  return chooser(
    { place, name: 'What to ask' },
    [hiddenField('go', '1'), ...parameters, ...(narrows.length === 0 ? [] : [more])],
    askButton,
  )
}

const askButton = html`<button class="main">Ask</button>`

const mostRunning = 2
let running = 0

/** Limits the number of concurrent questions, because other pages also need the desk's few connections. */
async function* readInTurn(
  { pool, origins, suspects, signal }: DeskReading,
  question: SqlQuestion,
  { seconds, ...more }: { seconds: number; cell: number; warn?: (line: string) => void },
): AsyncGenerator<CellBatch> {
  if (running >= mostRunning) {
    throw new Misuse(
      `${mostRunning} questions are running, which is the maximum; try again when a question has finished`,
    )
  }
  running++
  try {
    const limits = { timeoutMs: seconds * 1000, warn: () => undefined, ...more }
    yield* readBatches(pool, { ...question, origins, suspects, signal, ...limits })
  } finally {
    running--
  }
}

type AskedRows = Awaited<ReturnType<typeof askFor>>

const longestCell = 2_000
const longestFileCell = 32_000
const mostCharacters = 3_000_000

async function expectStrangers(reading: DeskReading, text: string): Promise<void> {
  expectHarmless(text)
  if ((await findReader(reading.pool)) !== null) return
  throw new Misuse(
    `this database has no read-only role; ${npmRun('migrate')} creates the role if the database user may create roles`,
  )
}

/** Reads the first rows of a result. The statement is cancelled if the visitor leaves or presses Stop. */
async function askFor(
  reading: DeskReading,
  question: SqlQuestion,
  { seconds, rows: most }: { readonly seconds: number; readonly rows: number },
) {
  const warnings: string[] = []
  const limits = { seconds, cell: longestCell, warn: (line: string) => void warnings.push(line) }
  const rows: (readonly (string | null)[])[] = []
  let columns: readonly CellColumn[] = []
  let characters = 0
  const isFull = () => rows.length > most || characters > mostCharacters
  const begun = performance.now()
  for await (const batch of readInTurn(reading, question, limits)) {
    columns = batch.columns
    for (const row of batch.rows) {
      if (isFull()) break
      rows.push(row)
      for (const cell of row) characters += cell?.length ?? 0
    }
    if (isFull()) break
  }
  const ms = performance.now() - begun
  return { columns, rows: rows.slice(0, most), more: isFull(), ms, warnings }
}

const mostFileRows = 1_000_000

async function* readAll(
  reading: DeskReading,
  question: SqlQuestion,
  seconds: number,
): AsyncGenerator<CellBatch> {
  let rows = 0
  for await (const batch of readInTurn(reading, question, { seconds, cell: longestFileCell })) {
    rows += batch.rows.length
    if (rows > mostFileRows) {
      throw new Misuse(
        `the answer has more than ${mostFileRows} rows, which is the maximum for a file; ${npmRun('export')} has no such limit`,
      )
    }
    yield batch
  }
}

const askLimits = { seconds: 30, rows: 500 }
const fileSeconds = 120

async function readFound(read: () => Promise<AskedRows | null>) {
  try {
    return { asked: await read(), refusal: null }
  } catch (error) {
    if (error instanceof Misuse) return { asked: null, refusal: error.message }
    throw error
  }
}

function askTyped(address: PageAddress) {
  const name = address.part('question')
  const question = readQuestions().find((one) => one.name === name)
  if (question === undefined)
    throw new NotThere(`The library has no question ${JSON.stringify(name.slice(0, 60))}.`)
  return { question, typed: readTyped(question, address), go: address.ticked('go') }
}

export const questionPage = definePage({
  path: '/ask/:question',
  area: 'Ask',
  ask: askTyped,
  read: (reading, { question, typed, go }) =>
    readFound(async () => {
      const missing = question.parameters.some(
        ({ name, fallback }) => fallback === undefined && !(name in typed),
      )
      if (!go || missing) return null
      return askFor(reading, bindTyped(question, typed), askLimits)
    }),
  show: (found, place, { question, typed }) => {
    const { name, asks: title, sql } = question
    const file = place.href(`/ask/${name}/rows.csv`, typed)
    return {
      title,
      lead: html`${to(place.href('/ask'), 'The library')} · ${name}`,
      body: html`${drawForm(question, typed, place)}
      ${drawResult(found, title, { place, file, before: notYet })}
      ${section(
        {
          id: 'sql',
          title: 'SQL of this question',
          about:
            'The SQL is shown as stored in the library; $1, $2 … are the values above, in order.',
        },
        html`<p>${command(lineOf(name, typed))}</p>
          <pre tabindex="0" aria-label="SQL"><code data-copy>${sql.trim()}</code></pre>`,
      )}`,
    }
  },
})

const notYet = nothing('Press Ask to see the answer here as a table and, if possible, as a chart.')

export const questionFile: FilePage = {
  path: '/ask/:question/rows.csv',
  send: async (address, reading) => {
    const { question, typed } = askTyped(address)
    const rows = readAll(reading, bindTyped(question, typed), fileSeconds)
    return { name: `${question.name}.csv`, pieces: writeRows(rows, 'csv') }
  },
}

const example = `select run_date, answered, planned
from analysis.days
order by run_date`

const mostOf = { seconds: 60, rows: 2000 }

function askTypedSql(address: PageAddress) {
  return {
    text: address.text('text'),
    seconds: address.whole('seconds', { fallback: 15, most: mostOf.seconds }),
    rows: address.whole('rows', { fallback: 200, most: mostOf.rows }),
  }
}

export const sqlPage = definePage({
  path: '/sql',
  nav: 'SQL',
  area: 'Operations',
  ask: askTypedSql,
  read: async (reading, { text, ...limits }) => ({
    walled: reading.walled,
    ...(await readFound(async () => {
      if (text === null) return null
      await expectStrangers(reading, text)
      return askFor(reading, { text }, limits)
    })),
  }),
  show: ({ walled, ...found }, place, { text, seconds, rows }) => {
    const file = place.href('/sql/rows.csv', { text, seconds })
    return {
      title: 'SQL',
      lead: html`${to(place.href('/ask'), 'The library')} · one read-only statement, run as
      ${walled ? 'a read-only login' : 'the read-only role'}. Leaving the page or pressing stop in
      the browser cancels it.`,
      body: html`${chooser(
        { place, name: 'SQL' },
        [
          () => typedSql(text ?? example),
          numberField('seconds', 'Maximum seconds', seconds),
          numberField('rows', 'Maximum rows', rows),
        ],
        askButton,
      )}
      ${walled ? null : unwalled} ${drawResult(found, 'Answer', { place, file, before: noSqlYet })}`,
    }
  },
})

const unwalled = html`<p class="soft">
  The desk connects as the user of DATABASE_URL and switches to that role; words that could let a
  statement leave the role are refused. With <code>MILL_ANALYST_URL</code>, statements run under a
  separate login.
</p>`

const noSqlYet = nothing(
  'The answer will be shown here. You can query the tables and the views in the analysis schema; docs/schema.md describes each column. To run SQL in a terminal:',
  npmRun('sql'),
)

function typedSql(text: string): Html {
  return html`<label class="wide whole"
    >SQL
    <textarea name="text" rows="8" maxlength="8000" spellcheck="false" required>${text}</textarea>
  </label>`
}

function numberField(name: keyof typeof mostOf, label: string, value: number) {
  const attributes = { type: 'number', name, min: 1, max: mostOf[name], value }
  return () => html`<label>${label} ${element('input', attributes)}</label>`
}

export const sqlFile: FilePage = {
  path: '/sql/rows.csv',
  send: async (address, reading) => {
    const { text, seconds } = askTypedSql(address)
    if (text === null) throw new BadAddress('text: expected SQL, got nothing.')
    await expectStrangers(reading, text)
    const rows = readAll(reading, { text, values: [] }, seconds)
    return { name: 'answer.csv', pieces: writeRows(rows, 'csv') }
  },
}
