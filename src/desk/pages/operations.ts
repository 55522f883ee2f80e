// The Operations page: current runs, workers, schedules and credits.

import { npmRun, commandStart } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import { ago, etaOf, nextStep, readTables } from '../../core/runs/status-command.ts'
import type { RunStatus } from '../../core/runs/status.ts'
import { readLiveWorkers } from '../../core/runs/waits.ts'
import { describeLastNight, type NightSummary } from '../../core/scheduler/show.ts'
import { listNotices } from '../../features/notifications/news.ts'
import { type Html, html } from '../drawing/html.ts'
import {
  badge,
  command,
  figure,
  given,
  instant,
  lines,
  nothing,
  progress,
  runBadge,
  section,
  tiles,
  to,
  unknown,
  uncertainNote,
} from '../drawing/parts.ts'
import { column, tableSection } from '../drawing/tables.ts'
import { definePage, type DeskReading, type LiveParts, type PagePlace } from '../page.ts'
import { drawForecastLines } from './money.ts'
import { toRun } from './ways.ts'

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

type OperationsFound = Awaited<ReturnType<typeof readOperations>>

const shownNotices = 6

/** Reads a snapshot. The forecast may be a few seconds old, because it is expensive to compute. */
async function readOperations(reading: DeskReading) {
  const forecast = await reading.forecast()
  return reading.books(async (db) => ({
    ...(await readTables({ ...reading.mill, db }, null)),
    forecast,
    workers: await readLiveWorkers(db),
    notices: await listNotices(db, shownNotices),
  }))
}

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

function drawWorkers({ workers, account }: OperationsFound, { zone }: PagePlace): Html {
  const uncertain = account?.uncertain ?? 0
  const held = html`${uncertain} credits are held for calls with an unknown outcome:
  ${command(`${npmRun('status --')} --unknown`)}`
  return tableSection(
    {
      id: 'crew-now',
      title: 'Workers',
      about: uncertain === 0 ? null : held,
      empty: [
        'No worker is running. Workers will be listed here, with their calls in flight.',
        npmRun('work'),
      ],
    },
    workers,
    [
      column.right('worker', 'worker'),
      column.plain(
        'machine',
        ({ host, pid }) => html`${given(host)} <span class="soft">process ${pid}</span>`,
      ),
      column.word('since', ({ started_at: at }) => instant(at, zone)),
      column.right('in flight', ({ in_flight: busy, lanes }) => `${busy} of ${lanes}`),
      column.right('oldest', ({ oldest_s: age }) => (age === null ? unknown : `${age} s`)),
    ],
  )
}

function drawDue({ summaries }: OperationsFound, { href }: PagePlace): Html {
  return tableSection(
    {
      id: 'due-now',
      title: 'Schedules',
      about: to(href('/nights'), 'All nights'),
      empty: [
        'No schedule is enabled. Schedules will be listed here, with their last night and next due time.',
        npmRun('nightly'),
      ],
    },
    summaries,
    [
      column.text('schedule', 'schedule'),
      column.text('last night', ({ zone, last }) => describeLastNight(zone, last)),
      column.word('next', ({ next, zone }) =>
        next === null ? 'never' : html`${instant(next, zone)} <span class="soft">${zone}</span>`,
      ),
      column.plain('overdue', overdueOf),
    ],
  )
}

function overdueOf({ overdue, zone }: NightSummary): readonly Html[] | string {
  if (overdue.length === 0) return 'no'
  return overdue.map(
    ({ dueAt, problem }) =>
      html`<p>${badge('overdue', 'bad')} ${instant(dueAt, zone)}: ${given(problem)}</p>`,
  )
}

function drawMoney(found: OperationsFound, { zone, href }: PagePlace): Html {
  const { account, floor, accountName, origin, forecast } = found
  const titles = { id: 'money-now', title: 'Money' }
  if (account === null) {
    const text = `The account ${accountName} has not been used yet. The first answer will report its balance.`
    return section(titles, nothing(text, `${npmRun('work --')} --drain`))
  }
  const seen =
    account.remaining === null ? 'not reported yet' : `reported ${ago(account.observed_ago_s)} ago`
  const about = html`Account ${given(account.name)}; balance ${seen}.`
  return section(
    { ...titles, about },
    html`${tiles([
        ['credits left', figure('account.remaining', account.remaining)],
        ['credit floor', figure('account.floor', floor)],
        ['held for calls in flight', figure('account.reserved', account.reserved)],
        ['held for calls with an unknown outcome', figure('account.uncertain', account.uncertain)],
        ['used or held today', figure('account.day_spent', account.day_spent)],
        ['used or held this month', figure('account.month_spent', account.month_spent)],
      ])}
      <h3>Forecast</h3>
      ${
        origin === 'test'
          ? html`<p>A test account never stops for lack of credits.</p>`
          : drawForecastLines(forecast, zone)
      }
      <p>${to(href('/money'), 'Balance over time, statement and costs')}</p>`,
  )
}

const noNotices = nothing(
  'No notices yet. Set MILL_WEBHOOK to be notified of stops, finished runs and missed nights.',
)

const told = { told: 'good', waiting: 'warn', 'given up': 'bad' } as const

function drawNotices({ notices }: OperationsFound, { zone }: PagePlace): Html {
  const shown = notices.map(
    ({ noted_at: at, state, text, problem }) =>
      html`<p>
          ${badge(state, told[state])} <span class="soft">${instant(at, zone)}</span> ${given(text)}
        </p>
        ${problem === null ? null : html`<p class="bad">${given(problem)}</p>`}`,
  )
  return section(
    { id: 'notices-now', title: 'Notices' },
    shown.length === 0 ? noNotices : lines(shown, 'news'),
  )
}

const shownStates = ['open', 'answered', 'reused', 'not_asked', 'failed', 'unknown'] as const

function drawRuns({ runs, older }: OperationsFound, place: PagePlace): Html {
  const all = to(place.href('/nights'), 'all nights')
  return tableSection(
    {
      id: 'runs-now',
      title: 'Runs',
      about: older === 0 ? null : html`${count(older, 'older run')} not shown; see ${all}.`,
      empty: [
        'Runs will be listed here, with their answered, reused and failed tasks.',
        npmRun('enqueue inputs/keywords.csv'),
      ],
    },
    runs,
    [
      column.right('run', ({ run }) => toRun(place, run)),
      column.text('list', 'list'),
      column.word('date', 'run_date'),
      column.word('state', ({ state }) => runBadge(state)),
      column.word('ended', ({ tasks }) => {
        const planned = Object.values(tasks).reduce((sum, number) => sum + number, 0)
        return progress(planned - tasks.open, planned)
      }),
      ...shownStates.map((state) =>
        column.right(state.replace('_', ' '), ({ run, tasks }: RunStatus) =>
          figure(`runs.${run}.${state}`, tasks[state]),
        ),
      ),
      column.right('credits', ({ run, spent, uncertain, budget }) => {
        const limit = budget === null ? null : html` of ${budget}`
        return html`${figure(`runs.${run}.spent`, spent)}${limit}${uncertainNote({ uncertain })}`
      }),
    ],
  )
}

const stopWords: Readonly<Record<string, string>> = {
  credit_floor: 'credit floor reached',
  budget: 'budget used up',
  auth: 'key refused',
}

function drawState(found: OperationsFound, place: PagePlace): Html {
  const { zone } = place
  const stops = found.account?.stops ?? []
  const { tone, title, text } = headline(found)
  return html`<section class="state ${tone}">
    <h2>${title}</h2>
    <p>${text}</p>
    ${wrongRuns(found, place)}
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

/** Lists the runs with failed or unknown tasks, because the table on the page may show only newer runs. */
function wrongRuns({ runs }: OperationsFound, place: PagePlace): Html | null {
  const wrong = runs.filter(({ tasks }) => tasks.failed + tasks.unknown > 0)
  if (wrong.length === 0) return null
  const named = wrong.slice(0, 6).map(({ run, run_date: date, tasks }, index) => {
    const link = toRun(place, run, `run ${run} of ${date}`)
    return html`${index === 0 ? '' : ', '}${link} (${tasks.failed + tasks.unknown})`
  })
  const more = wrong.length > 6 ? ` and ${count(wrong.length - 6, 'other run')}` : ''
  return html`<p>Runs with failed or unknown tasks: ${named}${more}.</p>`
}

function headline({ runs, account, workers, endedLastMinute, forecast }: OperationsFound) {
  const open = runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  const tasks = count(open, 'open task')
  const stop = account?.stops[0]
  if (stop !== undefined) {
    const title = `Stopped: ${stopWords[stop.reason] ?? stop.reason}`
    return { tone: 'bad', title, text: open === 0 ? 'No task is open.' : `${tasks}.` }
  }
  if (runs.length === 0) {
    const text =
      'No list has been read. Runs will be shown here, with their finished and open tasks.'
    return { tone: 'soft', title: 'Nothing here yet', text }
  }
  if (open === 0) {
    const wrong = runs.reduce((sum, { tasks: of }) => sum + of.failed + of.unknown, 0)
    if (wrong === 0) return { tone: 'good', title: 'All done', text: 'No task is open.' }
    const text =
      'No task is open. Failed tasks have no answer. For tasks with an unknown outcome, the reply was lost.'
    return { tone: 'warn', title: `Finished with ${count(wrong, 'failure')}`, text }
  }
  if (workers.length === 0) {
    return { tone: 'warn', title: 'No worker is running', text: `${tasks}, waiting for a worker.` }
  }
  if (endedLastMinute === 0) {
    const text = `${tasks}; no call ended in the last minute.`
    return { tone: 'warn', title: 'Workers are running, but no call has ended recently', text }
  }
  return { tone: 'good', title: 'Working', text: `${tasks}: ${etaOf(open, forecast)}.` }
}

function totals({ runs, endedLastMinute, account }: OperationsFound): Html {
  const sum = (state: 'open' | 'failed' | 'unknown') =>
    runs.reduce((all, { tasks }) => all + tasks[state], 0)
  return tiles([
    ['open tasks', figure('open', sum('open'))],
    ['calls ended in the last minute', figure('ended', endedLastMinute)],
    ['calls in flight', figure('account.in_flight', account?.in_flight ?? 0)],
    ['workers alive', figure('account.workers', account?.workers ?? 0)],
    ['failed or unknown tasks in the runs below', sum('failed') + sum('unknown')],
  ])
}

const commandsIn = new RegExp(`(${commandStart}[^;,]+)`)

function typeable(step: string): readonly (Html | string)[] {
  return step
    .split(commandsIn)
    .map((piece) => (piece.startsWith(commandStart) ? command(piece.trim()) : piece))
}
