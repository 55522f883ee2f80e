// The first page: the current state, changes, and anything that needs attention.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import { groupBy } from '../../base/query.ts'
import { dayMs, localDate } from '../../base/time/zone.ts'
import { nextStep } from '../../core/runs/screen.ts'
import type { AlertRow } from '../../features/alerts/statements.ts'
import { change, clicks, type Html, html, numberText } from '../drawing/html.ts'
import {
  amount,
  badge,
  type Column,
  command,
  figure,
  given,
  nothing,
  percent,
  section,
  tableSection,
  tiles,
  to,
  unknown,
} from '../drawing/parts.ts'
import { daysBefore } from '../address.ts'
import { definePage, type PagePlace } from '../page.ts'
import { drawShares } from './domain.ts'
import { drawDay } from './nights.ts'
import type { Gain } from './keywords-read.ts'
import {
  type OverviewFound,
  readOverview,
  type ShareChange,
  type ShareStanding,
} from './overview-read.ts'
import { nightPath, toDomain, toPage, toQuery } from './ways.ts'

/** The page with the current state, changes, and anything that needs attention. */
export const overviewPage = definePage({
  path: '/',
  nav: 'Overview',
  ask: (address) => address.day('day'),
  read: readOverview,
  show: (found, place) => ({
    title: 'Overview',
    lead: overviewLead(found),
    body: html`${drawTasks(found, place)}
      ${found.standing === null ? noAnswers : drawStanding(found.standing, place)}
      ${drawAlerts(found, place)}
      <div class="pair">${drawNights(found, place)} ${drawCredits(found, place)}</div>`,
  }),
})

const noAnswers = nothing(
  'No list has been read. Visibility, ranks and changes will be shown here.',
  npmRun('enqueue inputs/keywords.csv'),
)

export function overviewLead({ standing }: OverviewFound): string {
  if (standing === null) return 'No query has been asked yet.'
  const { days, counts } = standing
  const { up, down, entered, left } = counts.day
  const now = ourShare(standing, days.now.day)
  const share = now === null ? '' : `share of voice ${(now * 100).toFixed(2)} %, `
  return `${days.now.day}: ${share}${numberText(up + entered)} keywords up or new, ${numberText(down + left)} down or gone since ${days.before.day}.`
}

/** Share of the clicks of all our own domains on a day; null if unknown. */
function ourShare({ shares, ours }: ShareStanding, day: string): number | null {
  const own = shares.filter(({ domain, thin }) => ours.includes(domain) && !thin)
  // For an excluded day, the previous one is used.
  const last = own.reduce(
    (latest, { runDate }) => (runDate <= day && runDate > latest ? runDate : latest),
    '',
  )
  const held = own.filter(({ runDate }) => runDate === last)
  return held.length === 0 ? null : held.reduce((sum, { share }) => sum + (share ?? 0), 0)
}

/** Something that a person should look at or do. */
export interface Task {
  readonly tone: 'bad' | 'warn'
  readonly text: string
  /** Command to type; null: open the page. */
  readonly line: string | null
  readonly path: string | null
}

const recentDays = 7

/** Things that need attention, most urgent first. */
export function tasksOf(
  found: OverviewFound,
  { today, zone }: Pick<PagePlace, 'today' | 'zone'>,
): readonly Task[] {
  const tasks = [...stateTasks(found, zone), ...nightTasks(found, daysBefore(today, recentDays))]
  return tasks.toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'))
}

const task = (tone: Task['tone'], text: string, way: Partial<Task> = {}): Task => ({
  tone,
  text,
  line: null,
  path: null,
  ...way,
})

function* stateTasks(found: OverviewFound, zone: string): Generator<Task> {
  const { state, workers, standing } = found
  for (const { reason, detail } of state.account?.stops ?? []) {
    const text = `Buying has stopped (${reason.replace('_', ' ')}): ${detail}`
    yield task('bad', text, { line: nextStep(state) })
  }
  const { topUpBy } = creditsOf(found)
  if (topUpBy !== null) {
    const text = `Top up by ${localDate(zone, topUpBy)}: the credit floor will be reached then.`
    yield task('bad', text, { path: '/money' })
  }
  const open = state.runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  if (open > 0 && workers.length === 0) {
    const text = `${count(open, 'open task')}, and no worker is running.`
    yield task('bad', text, { line: npmRun('work') })
  }
  for (const { schedule, overdue } of state.summaries) {
    if (overdue.length > 0) {
      yield task('bad', `Schedule ${schedule} is overdue.`, { path: '/operations' })
    }
  }
  if (standing !== null && standing.ours.length === 0) {
    const text = 'No domain is marked as yours, so no keyword has a rank.'
    yield task('warn', text, { line: `${npmRun('domains --')} set example.com` })
  }
}

/** A bad night is one task: why it is left out, and how many of its queries have no answer. */
function* nightTasks({ nights, state }: OverviewFound, since: string): Generator<Task> {
  const failures = new Map(
    state.runs.map(({ run, tasks }) => [run, tasks.failed + tasks.unknown] as const),
  )
  for (const { list, run_date: date, run, suspect, reasons, outcome } of nights) {
    const night = `The night of ${date} (${list})`
    if (date < since) continue
    if (suspect || outcome === 'missed' || outcome === 'failed') {
      const why = suspect ? `is left out as suspect: ${reasons.join('; ')}` : `was ${outcome}`
      const wrong = run === null ? 0 : (failures.get(run) ?? 0)
      if (run !== null) failures.delete(run)
      yield run === null
        ? task('warn', `${night} ${why}.`, { path: '/nights' })
        : failed({ run, wrong, text: `${night} ${why}.` })
    }
  }
  for (const { run, list, run_date: date } of state.runs) {
    const wrong = failures.get(run) ?? 0
    if (wrong > 0 && date >= since) {
      yield failed({ run, wrong, text: `Run ${run} (${list}, ${date}):` })
    }
  }
}

function failed({ run, wrong, text }: { run: number; wrong: number; text: string }): Task {
  const path = `/runs/${run}`
  if (wrong === 0) return task('warn', text, { path })
  const words = `${text} ${count(wrong, 'task')} failed or have an unknown outcome.`
  return task('warn', words, { line: `${npmRun('retry --')} --run ${run}`, path })
}

const shownTasks = 8

function drawTasks(found: OverviewFound, place: PagePlace): Html {
  const tasks = tasksOf(found, place)
  if (tasks.length === 0) return html`<p class="calm" role="status">✓ No action needed.</p>`
  const more = tasks.length - shownTasks
  return html`<section class="state ${tasks[0]?.tone ?? 'warn'}">
    <h2>${count(tasks.length, 'thing')} to look at</h2>
    <ul class="news">
      ${tasks
        .slice(0, shownTasks)
        .map(
          ({ text, line, path }) =>
            html`<li>
              ${path === null ? text : to(place.href(path), text)}${line === null ? null : html` ${command(line)}`}
            </li>`,
        )}
    </ul>
    ${more <= 0 ? null : html`<p>${to(place.href('/operations'), `and ${numberText(more)} more`)}</p>`}
  </section>`
}

function drawStanding(found: ShareStanding, place: PagePlace): Html {
  return html`${drawTiles(found, place)}
    ${
      found.shares.length === 0
        ? null
        : drawShares(
            found,
            {
              picture: 'Share of voice of our domains and of competitors, day by day',
              about: html`Share of the clicks that the best positions of each would get, by weight.
              ${to(place.href('/domains'), 'All domains')}`,
            },
            place,
          )
    }
    <div class="pair">${drawDistribution(found, place)} ${drawRivals(found, place)}</div>
    <div class="pair">
      ${drawGains('Won most', found, place)} ${drawGains('Lost most', found, place)}
    </div>`
}

function drawTiles(found: ShareStanding, place: PagePlace): Html {
  const { days, week, counts } = found
  const now = ourShare(found, days.now.day)
  const since = (day: string) => {
    const then = ourShare(found, day)
    return now === null || then === null ? unknown : change(now - then)
  }
  const way = (name: 'up' | 'down' | 'entered' | 'left') => {
    const filters = { day: days.now.day, since: days.before.day, change: name, sort: 'change' }
    return to(place.href('/keywords', filters), figure(name, counts.day[name]))
  }
  return html`${tiles([
    { value: percent(now), text: 'share of voice of our domains' },
    { value: since(days.before.day), text: `points since ${days.before.day}` },
    { value: since(week.before.day), text: `points since ${week.before.day}` },
    { value: way('up'), text: 'keywords up' },
    { value: way('down'), text: 'keywords down' },
    { value: way('entered'), text: 'entered the results' },
    { value: way('left'), text: 'left the results' },
  ])}`
}

const ranges = ['1-3', '4-10', '11-20', '21+', 'none'] as const

function drawDistribution({ days, week, counts }: ShareStanding, place: PagePlace): Html {
  const inRange = (of: ShareStanding['counts']['day'], range: (typeof ranges)[number]) =>
    range === 'none' ? of.keywords - of['1-3'] - of['4-10'] - of['11-20'] - of['21+'] : of[range]
  const all = Math.max(1, counts.day.keywords)
  type Range = (typeof ranges)[number]
  const columns: readonly Column<Range>[] = [
    {
      head: 'Rank',
      word: true,
      cell: (range) =>
        to(
          place.href('/keywords', { day: days.now.day, rank: range, sort: 'rank' }),
          range === 'none' ? 'not ranked' : range.replace('-', ' to '),
        ),
    },
    {
      head: 'Keywords',
      number: true,
      cell: (range) => figure(`rank ${range}`, inRange(counts.day, range)),
    },
    { head: 'Share', number: true, cell: (range) => percent(inRange(counts.day, range) / all) },
    {
      head: 'Of all',
      cell: (range) =>
        html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
          <rect class="all" width="100" height="8" rx="2" />
          <rect
            class="part"
            width="${Math.round((inRange(counts.day, range) / all) * 100)}"
            height="8"
            rx="2"
          />
        </svg>`,
    },
  ]
  const { up, down, entered, left } = counts.week
  return tableSection(
    {
      id: 'distribution',
      title: 'Ranks',
      about: html`Since ${week.before.day}: ${numberText(up)} up, ${numberText(down)} down,
      ${numberText(entered)} entered, ${numberText(left)} left.
      ${to(place.href('/keywords', { since: week.before.day, change: 'any', sort: 'change' }), 'See them')}`,
      empty: 'Ranks will be counted here.',
    },
    columns,
    ranges,
  )
}

function drawRivals({ rivals, days }: ShareStanding, place: PagePlace): Html {
  const columns: readonly Column<ShareChange>[] = [
    { head: 'Domain', cell: ({ domain }) => toDomain(place, domain) },
    { head: 'Share', number: true, cell: ({ share }) => percent(share) },
    { head: 'Points', number: true, cell: ({ share, previous }) => change(share - previous) },
  ]
  return tableSection(
    {
      id: 'competitors',
      title: 'Competitors that moved most',
      about: `Between ${days.before.day} and ${days.now.day}.`,
      empty: 'Competitors that won or lost share will be shown here.',
    },
    columns,
    rivals.slice(0, 8),
  )
}

function drawGains(
  title: 'Won most' | 'Lost most',
  { won, lost, days }: ShareStanding,
  place: PagePlace,
): Html {
  const { keywords, pages } = title === 'Won most' ? won : lost
  const rank = (value: number | null) => (value === null ? html`–` : html`${value}`)
  const columns = (kind: string, way: (gain: Gain) => Html): readonly Column<Gain>[] => [
    { head: kind, cell: way },
    { head: 'Rank', word: true, cell: (gain) => html`${rank(gain.previous)} → ${rank(gain.rank)}` },
    { head: 'Clicks', number: true, cell: (gain) => clicks(gain.clicks) },
  ]
  const empty = 'No changes between these days.'
  const id = title === 'Won most' ? 'won' : 'lost'
  const about = `By clicks, between ${days.before.day} and ${days.now.day}.`
  return html`<div>
    ${tableSection(
      { id, title: `${title}: keywords`, about, empty },
      columns('Keyword', ({ id: query, name }) => toQuery(place, query ?? '', name ?? '')),
      keywords,
    )}
    ${tableSection(
      { id: `${id}-pages`, title: `${title}: pages`, empty },
      columns('Page', ({ id: page, name }) => toPage(place, page, name)),
      pages,
    )}
  </div>`
}

export interface AlertGroup {
  readonly date: string
  readonly severity: 'bad' | 'warn' | 'good'
  readonly text: string
  readonly alerts: readonly AlertRow[]
}

const alertWords: Readonly<Record<string, readonly [string, AlertGroup['severity']]>> = {
  entered: ['entered the results', 'good'],
  left: ['left the results', 'bad'],
  'moved up': ['moved up', 'good'],
  'moved down': ['moved down', 'warn'],
  'crossed up': ['entered the top positions', 'good'],
  'crossed down': ['dropped out of the top positions', 'bad'],
  share_fell: ['lost share of voice', 'bad'],
  rival_passed: ['passed by a competitor', 'warn'],
  new_feature: ['new SERP feature', 'warn'],
  wrong_page: ['a page other than the target page ranks', 'warn'],
}
const severities = ['bad', 'warn', 'good'] as const

/** Active alerts by night and kind, newest night and worst kind first. */
export function groupAlerts(alerts: readonly AlertRow[]): readonly AlertGroup[] {
  const kind = ({ what, position, previous_position: before }: AlertRow) => {
    if (what !== 'moved' && what !== 'crossed') return what
    return `${what} ${(position ?? Infinity) < (before ?? Infinity) ? 'up' : 'down'}`
  }
  return [...groupBy(alerts, (alert) => `${alert.run_date} ${kind(alert)}`).values()]
    .flatMap((own) => {
      const [first] = own
      if (first === undefined) return []
      const [words, severity] = alertWords[kind(first)] ?? [first.what, 'warn' as const]
      return [
        {
          date: first.run_date,
          severity,
          text: `${numberText(own.length)} × ${words}`,
          alerts: own,
        },
      ]
    })
    .toSorted(
      (a, b) =>
        b.date.localeCompare(a.date) ||
        severities.indexOf(a.severity) - severities.indexOf(b.severity),
    )
}

const shownGroups = 8
const shownAlerts = 10

function drawAlerts({ alerts }: OverviewFound, place: PagePlace): Html {
  const groups = groupAlerts(alerts)
  if (groups.length === 0) {
    return section(
      { id: 'alerts', title: 'Alerts' },
      nothing(
        'No open alerts. They are shown here, by night and severity.',
        `${npmRun('alerts --')} rules`,
      ),
    )
  }
  const names = { bad: 'severe', warn: 'warning', good: 'gain' } as const
  return section(
    {
      id: 'alerts',
      title: html`Alerts (${amount(alerts.length)})`,
      about: 'Open alerts, by night.',
    },
    html`${groups.slice(0, shownGroups).map(
      ({ date, severity, text, alerts: own }, index) =>
        html`<details id="alerts-${index}">
          <summary>${badge(names[severity], severity)} ${date}: ${text}</summary>
          <ul class="news">
            ${own.slice(0, shownAlerts).map((alert) => html`<li>${given(alert.text)} ${bothNights(alert, place)}</li>`)}
          </ul>
          ${own.length <= shownAlerts ? null : html`<p>${numberText(own.length - shownAlerts)} more: ${command(npmRun('alerts'))}</p>`}
        </details>`,
    )}`,
  )
}

/** Link to both nights of an alert about one keyword. */
function bothNights(alert: AlertRow, { href }: PagePlace): Html | null {
  const { query_id: query, run_date: date, base_run_date: beside } = alert
  return query === null ? null : to(href(nightPath(query, date), { beside }), 'both nights')
}

function drawNights({ nights }: OverviewFound, place: PagePlace): Html {
  return section(
    { id: 'nights', title: 'Nights', about: to(place.href('/nights'), 'The calendar') },
    nights.length === 0
      ? nothing('No night in the last two weeks.', `${npmRun('nightly --')} --show`)
      : html`${[...groupBy(nights, ({ list }) => list)].map(
          ([list, own]) =>
            html`<h3>${given(list)}</h3>
              <ol class="days strip">
                ${[...groupBy(own, ({ run_date: date }) => date)]
                  .toSorted(([a], [b]) => a.localeCompare(b))
                  .map(([date, entries]) => drawDay(Number(date.slice(8)), entries, place))}
              </ol>`,
        )}`,
  )
}

/** Further away, a date says nothing. */
const mostDaysAhead = 3_650

/** Credits in number of nights, and when the floor is reached; null if it cannot be predicted. */
export function creditsOf({ forecast }: OverviewFound): {
  readonly nights: number | null
  /** The forecast of the coming week reaches the floor then. */
  readonly topUpBy: Date | null
  /** The same, or estimated from recent prices if it is further away. */
  readonly lastsUntil: Date | null
} {
  if (forecast === null || forecast.balance === null || forecast.outcome.kind !== 'known') {
    return { nights: null, topUpBy: null, lastsUntil: null }
  }
  const { balance, floor, now, until, outcome } = forecast
  const steps = outcome.steps.filter(({ kind }) => kind === 'night')
  const days = Math.max(1, (until.getTime() - now.getTime()) / dayMs)
  const perDay = steps.reduce((sum, { credits }) => sum + credits, 0) / days
  const met = outcome.steps.find(({ floorAt }) => floorAt !== null)?.floorAt ?? null
  const topUpBy = met === null ? null : new Date(met)
  if (perDay === 0) return { nights: null, topUpBy, lastsUntil: topUpBy }
  const left = Math.max(0, Math.floor((balance - floor) / perDay))
  const estimate = left > mostDaysAhead ? null : new Date(now.getTime() + left * dayMs)
  const perNight = steps.length === 0 ? perDay : (perDay * days) / steps.length
  return {
    nights: Math.max(0, Math.floor((balance - floor) / perNight)),
    topUpBy,
    lastsUntil: topUpBy ?? estimate,
  }
}

function drawCredits(found: OverviewFound, place: PagePlace): Html {
  const { state } = found
  const { nights, lastsUntil } = creditsOf(found)
  const open = state.runs.filter(({ state: of }) => of === 'open' || of === 'planning')
  return section(
    { id: 'credits', title: 'Credits and runs', about: to(place.href('/money'), 'Money') },
    html`${tiles([
        {
          value: figure('account.remaining', state.account?.remaining ?? null),
          text: 'credits left',
        },
        {
          value: nights === null ? unknown : figure('nights', nights),
          text: 'nights until the floor, at recent prices',
        },
        {
          value: lastsUntil === null ? unknown : localDate(place.zone, lastsUntil),
          text: 'top up by this day',
        },
      ])}
      ${
        open.length === 0
          ? html`<p>No run is open.</p>`
          : html`<ul class="lines">
              ${open.map(
                ({ run, list, tasks }) =>
                  html`<li>
                    ${to(place.href(`/runs/${run}`), `Run ${run} of ${list}`)}:
                    ${count(tasks.open, 'open task')}
                  </li>`,
              )}
            </ul>`
      }
      <p>${to(place.href('/operations'), 'Runs, workers and schedules')}</p>`,
  )
}
