// The page Operations: current runs, workers, schedules and credits.

import { npmRun, commandStart } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import { type MillState, readTables } from '../../core/runs/status-command.ts'
import { ago, etaOf, nextStep } from '../../core/runs/screen.ts'
import type { RunStatus } from '../../core/runs/status.ts'
import { type LiveWorker, readLiveWorkers } from '../../core/runs/waits.ts'
import { describeLastNight, type NightSummary } from '../../core/scheduler/show.ts'
import { listNotices, type NoticeRow } from '../../features/notifications/news.ts'
import { type Html, html } from '../drawing/html.ts'
import {
  badge,
  command,
  figure,
  given,
  instant,
  nothing,
  progress,
  runBadge,
  section,
  table,
  tableSection,
  tiles,
  to,
  unknown,
  uncertainNote,
} from '../drawing/parts.ts'
import { definePage, type DeskReading, type LiveParts, type PagePlace } from '../page.ts'
import { drawForecastLines } from './money.ts'

/** State of the mill as in `status`, without the queue, with workers and notices. */
interface OperationsFound extends Omit<MillState, 'queue'> {
  readonly workers: readonly LiveWorker[]
  readonly notices: readonly NoticeRow[]
}

const shownNotices = 6

/** Reads a snapshot; the forecast, which is expensive, may be some seconds older. */
async function readOperations(reading: DeskReading): Promise<OperationsFound> {
  const forecast = await reading.forecast()
  return reading.books(async (db) => ({
    ...(await readTables({ ...reading.mill, db }, null)),
    forecast,
    workers: await readLiveWorkers(db),
    notices: await listNotices(db, shownNotices),
  }))
}

function drawWorkers({ workers, account }: OperationsFound, { zone }: PagePlace): Html {
  const uncertain = account?.uncertain ?? 0
  const held =
    uncertain === 0
      ? null
      : html`<p>
          ${uncertain} credits are held for calls with an unknown outcome:
          ${command(`${npmRun('status --')} --unknown`)}
        </p>`
  const number = true as const
  const columns = [
    { head: 'worker', number, cell: (row: LiveWorker) => row.worker },
    {
      head: 'machine',
      cell: (row: LiveWorker) =>
        html`${given(row.host)} <span class="soft">process ${row.pid}</span>`,
    },
    {
      head: 'since',
      word: true as const,
      cell: (row: LiveWorker) => instant(row.started_at, zone),
    },
    {
      head: 'in flight',
      number,
      cell: (row: LiveWorker) => html`${row.in_flight} of ${row.lanes}`,
    },
    {
      head: 'oldest',
      number,
      cell: (row: LiveWorker) => (row.oldest_s === null ? unknown : html`${row.oldest_s} s`),
    },
  ]
  const body =
    workers.length === 0
      ? nothing(
          'No worker is running. Each will be a line here, with its calls in flight.',
          npmRun('work'),
        )
      : table('Workers', columns, workers)
  return section({ id: 'crew-now', title: 'Workers' }, html`${body}${held}`)
}

function drawDue({ summaries }: OperationsFound, { href }: PagePlace): Html {
  const columns = [
    { head: 'schedule', cell: ({ schedule }: NightSummary) => given(schedule) },
    {
      head: 'last night',
      cell: ({ zone, last }: NightSummary) => given(describeLastNight(zone, last)),
    },
    { head: 'next', word: true as const, cell: nextOf },
    { head: 'overdue', cell: overdueOf },
  ]
  return tableSection(
    {
      id: 'due-now',
      title: 'Schedules',
      about: to(href('/nights'), 'All nights'),
      empty: [
        'No schedule is on. Each will be a line here, with its last night and its next due time.',
        npmRun('nightly'),
      ],
    },
    columns,
    summaries,
  )
}

function nextOf({ next, zone }: NightSummary): Html {
  return next === null
    ? html`never`
    : html`${instant(next, zone)} <span class="soft">${zone}</span>`
}

function overdueOf({ overdue, zone }: NightSummary): readonly Html[] | string {
  if (overdue.length === 0) return 'no'
  return overdue.map(
    ({ dueAt, problem }) =>
      html`<p>${badge('overdue', 'bad')} ${instant(dueAt, zone)}: ${given(problem)}</p>`,
  )
}

function drawMoney(found: OperationsFound, { zone, href }: PagePlace): Html {
  const { account, floor, accountName } = found
  const title = html`Money`
  if (account === null) {
    const text = `The account ${accountName} was not used yet: its balance comes with the first answer.`
    return section({ id: 'money-now', title }, nothing(text, `${npmRun('work --')} --drain`))
  }
  const seen =
    account.remaining === null ? 'not reported yet' : `reported ${ago(account.observed_ago_s)} ago`
  return section(
    {
      id: 'money-now',
      title,
      about: html`Account ${given(account.name)}; the balance was ${seen}.`,
    },
    html`${tiles([
        { text: 'credits left', value: figure('account.remaining', account.remaining) },
        { text: 'credit floor', value: figure('account.floor', floor) },
        { text: 'held for calls in flight', value: figure('account.reserved', account.reserved) },
        {
          text: 'held for calls with an unknown outcome',
          value: figure('account.uncertain', account.uncertain),
        },
        { text: 'used or held today', value: figure('account.day_spent', account.day_spent) },
        {
          text: 'used or held this month',
          value: figure('account.month_spent', account.month_spent),
        },
      ])}
      <h3>Forecast</h3>
      ${forecastLinesOf(found, zone)}
      <p>${to(href('/money'), 'Balance over time, statement and costs')}</p>`,
  )
}

function forecastLinesOf({ forecast, origin }: OperationsFound, zone: string): Html {
  if (origin === 'test') return html`<p>A test account never stops for lack of credits.</p>`
  return drawForecastLines(forecast, zone)
}

const told = { told: 'good', waiting: 'warn', 'given up': 'bad' } as const

function drawNotices({ notices }: OperationsFound, place: PagePlace): Html {
  return section(
    { id: 'notices-now', title: 'Notices' },
    notices.length === 0
      ? nothing(
          'No notices yet. Set MILL_WEBHOOK to be notified of stops, finished runs and missed nights.',
          null,
        )
      : html`<ul class="news">
          ${notices.map((notice) => noticeLine(notice, place))}
        </ul>`,
  )
}

function noticeLine({ noted_at: at, state, text, problem }: NoticeRow, { zone }: PagePlace): Html {
  return html`<li>
    <p>
      ${badge(state, told[state])} <span class="soft">${instant(at, zone)}</span> ${given(text)}
    </p>
    ${problem === null ? null : html`<p class="bad">${given(problem)}</p>`}
  </li>`
}

function drawRuns({ runs, older }: OperationsFound, place: PagePlace): Html {
  const about =
    older === 0
      ? {}
      : { about: html`And ${older} older ones: ${to(place.href('/nights'), 'all nights')}.` }
  return tableSection(
    {
      id: 'runs-now',
      title: 'Runs',
      ...about,
      empty: [
        'One line for each run, with the tasks answered, reused and failed.',
        npmRun('enqueue inputs/keywords.csv'),
      ],
    },
    runColumns(place),
    runs,
  )
}

function runColumns({ href }: PagePlace) {
  const number = true as const
  const word = true as const
  const of = ({ run }: RunStatus, name: string) => `runs.${run}.${name}`
  return [
    { head: 'run', number, cell: (row: RunStatus) => to(href(`/runs/${row.run}`), row.run) },
    { head: 'list', cell: (row: RunStatus) => given(row.list) },
    { head: 'date', word, cell: (row: RunStatus) => row.run_date },
    { head: 'state', word, cell: (row: RunStatus) => runBadge(row.state) },
    { head: 'ended', word, cell: doneOf },
    { head: 'open', number, cell: (row: RunStatus) => figure(of(row, 'open'), row.tasks.open) },
    {
      head: 'answered',
      number,
      cell: (row: RunStatus) => figure(of(row, 'answered'), row.tasks.answered),
    },
    {
      head: 'reused',
      number,
      cell: (row: RunStatus) => figure(of(row, 'reused'), row.tasks.reused),
    },
    {
      head: 'not asked',
      number,
      cell: (row: RunStatus) => figure(of(row, 'not_asked'), row.tasks.not_asked),
    },
    {
      head: 'failed',
      number,
      cell: (row: RunStatus) => figure(of(row, 'failed'), row.tasks.failed),
    },
    {
      head: 'unknown',
      number,
      cell: (row: RunStatus) => figure(of(row, 'unknown'), row.tasks.unknown),
    },
    { head: 'credits', number, cell: creditsOf },
  ]
}

function doneOf({ tasks }: RunStatus): Html {
  const all = Object.values(tasks).reduce((sum, number) => sum + number, 0)
  return progress(all - tasks.open, all)
}

function creditsOf({ run, spent, uncertain, budget }: RunStatus): Html {
  const limit = budget === null ? null : html` of ${budget}`
  return html`${figure(`runs.${run}.spent`, spent)}${limit}${uncertainNote({ uncertain })}`
}

const stopWords: Readonly<Record<string, string>> = {
  credit_floor: 'credit floor reached',
  budget: 'budget used up',
  auth: 'key refused',
}

/** Shows whether work progresses, why not, and which command to run next. */
function drawState(found: OperationsFound, { zone, href }: PagePlace): Html {
  const stops = found.account?.stops ?? []
  const { tone, title, text } = headline(found)
  return html`<section class="state ${tone}">
    <h2>${title}</h2>
    <p>${text}</p>
    ${wrongRuns(found, href)}
    ${stops.map(
      ({ reason, since, until, detail }) =>
        html`<p>
          <strong>${stopWords[reason] ?? reason}</strong> since
          ${instant(since, zone)}${until === null ? null : html`, until ${instant(until, zone)}`}:
          ${given(detail)}
        </p>`,
    )}
    <p class="next">Next: ${typeable(nextStep(found))}</p>
    ${found.runs.some(({ tasks }) => tasks.open > 0) ? totals(found) : null}
  </section>`
}

/** Lists the runs with failed or unknown tasks; the table below may show only newer ones. */
function wrongRuns({ runs }: OperationsFound, href: PagePlace['href']): Html | null {
  const wrong = runs.filter(({ tasks }) => tasks.failed + tasks.unknown > 0)
  if (wrong.length === 0) return null
  return html`<p>
    Failed or unknown:
    ${wrong
      .slice(0, 6)
      .map(
        ({ run, run_date: date, tasks }, index) =>
          html`${index === 0 ? '' : ', '}${to(href(`/runs/${run}`), `run ${run} of ${date}`)}
          (${tasks.failed + tasks.unknown})`,
      )}${wrong.length > 6 ? ` and ${count(wrong.length - 6, 'other run')}` : ''}.
  </p>`
}

interface Headline {
  readonly tone: 'good' | 'warn' | 'bad' | 'soft'
  readonly title: string
  readonly text: string
}

function headline({
  runs,
  account,
  workers,
  endedLastMinute,
  forecast,
}: OperationsFound): Headline {
  const open = runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  const tasks = count(open, 'open task')
  const stop = account?.stops[0]
  if (stop !== undefined) {
    const title = `Stopped: ${stopWords[stop.reason] ?? stop.reason}`
    return { tone: 'bad', title, text: open === 0 ? 'No task is open.' : `${tasks}.` }
  }
  if (runs.length === 0) {
    const text = 'No list has been read. Its run will be shown here, with finished and open tasks.'
    return { tone: 'soft', title: 'Nothing here yet', text }
  }
  if (open === 0) {
    const wrong = runs.reduce((sum, { tasks: of }) => sum + of.failed + of.unknown, 0)
    if (wrong === 0) return { tone: 'good', title: 'All done', text: 'No task is open.' }
    const text =
      'No task is open. A failed task has no answer; the reply to an unknown one was lost.'
    return { tone: 'warn', title: `Finished with ${count(wrong, 'failure')}`, text }
  }
  if (workers.length === 0) {
    return { tone: 'warn', title: 'No worker is running', text: `${tasks} wait for one.` }
  }
  if (endedLastMinute === 0) {
    const text = `${tasks}; no call ended in the last minute.`
    return { tone: 'warn', title: 'Working, but no call has ended', text }
  }
  return { tone: 'good', title: 'Working', text: `${tasks}: ${etaOf(open, forecast)}.` }
}

function totals({ runs, endedLastMinute, account }: OperationsFound): Html {
  const sum = (states: readonly (keyof (typeof runs)[number]['tasks'])[]) =>
    runs.reduce((all, { tasks }) => all + states.reduce((part, state) => part + tasks[state], 0), 0)
  return tiles([
    { text: 'open tasks', value: figure('open', sum(['open'])) },
    { text: 'calls ended in the last minute', value: figure('ended', endedLastMinute) },
    { text: 'calls in flight', value: figure('account.in_flight', account?.in_flight ?? 0) },
    { text: 'workers alive', value: figure('account.workers', account?.workers ?? 0) },
    { text: 'failed or unknown, of the runs below', value: sum(['failed', 'unknown']) },
  ])
}

const commandsIn = new RegExp(`(${commandStart}[^;,]+)`)

/** A sentence whose commands can be copied. */
function typeable(step: string): readonly (Html | string)[] {
  return step
    .split(commandsIn)
    .map((piece) => (piece.startsWith(commandStart) ? command(piece.trim()) : piece))
}

/** The page of current runs, workers, schedules and credits. */
export const operationsPage = definePage({
  path: '/operations',
  nav: 'Now',
  area: 'Operations',
  ask: () => null,
  read: readOperations,
  show: (found, place) => {
    const parts = drawOperations(found, place)
    const piece = (id: string) => html`<div id="${id}">${parts[id]}</div>`
    return {
      title: 'Operations',
      plain: true,
      body: html`${piece('state')} ${piece('runs')}
        <div class="pair">
          ${piece('money')}
          <div>${piece('crew')} ${piece('due')}</div>
        </div>
        ${piece('notices')}`,
    }
  },
  live: async (reading, place) => drawOperations(await readOperations(reading), place),
})

function drawOperations(found: OperationsFound, place: PagePlace): LiveParts {
  return {
    state: drawState(found, place),
    runs: drawRuns(found, place),
    money: drawMoney(found, place),
    crew: drawWorkers(found, place),
    due: drawDue(found, place),
    notices: drawNotices(found, place),
  }
}
