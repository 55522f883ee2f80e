// The Overview page: the current state, changes, and anything that needs attention.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { groupBy } from '../../base/query.ts'
import { dayMs, localDate } from '../../base/time/zone.ts'
import { readCalendar } from '../../core/nights/nights.ts'
import { nextStep, readTables } from '../../core/runs/status-command.ts'
import { readLiveWorkers } from '../../core/runs/waits.ts'
import { type AlertRow, listAlerts } from '../../features/alerts/statements.ts'
import { readHeldDays, readOursOn } from '../../features/analysis/domains.ts'
import { change, type Html, html, numberText } from '../drawing/html.ts'
import {
  badge,
  command,
  figure,
  given,
  lines,
  nothing,
  percent,
  section,
  shareBar,
  tiles,
  to,
  unknown,
} from '../drawing/parts.ts'
import { column, tableSection } from '../drawing/tables.ts'
import { daysBefore } from '../address.ts'
import { definePage, type DeskReading, type PagePlace } from '../page.ts'
import { storedFigures } from '../stored-figures.ts'
import { drawShares, readMarks } from './domain.ts'
import { drawDay } from './nights.ts'
import {
  chooseDays,
  type Gain,
  type KeywordDays,
  rankRanges,
  readGains,
  readKeywordCounts,
} from './keywords-read.ts'
import { toDomain, toNight, toPage, toQuery, toRun } from './ways.ts'

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

export type OverviewFound = Awaited<ReturnType<typeof readOverview>>
type Standing = NonNullable<OverviewFound['standing']>

const trendDays = 30
const shownNights = 14
const shownGains = 5
const shownRivals = 8
const mostAlerts = 500
const mostLines = 7

export async function readOverview(
  reading: Pick<DeskReading, 'answers' | 'books' | 'forecast' | 'mill' | 'today'>,
  day: string | null = null,
) {
  const forecast = await reading.forecast()
  const standing = await reading.answers((db) => readStanding(db, reading.mill, day))
  return reading.books(async (db) => ({
    standing,
    forecast,
    state: await readTables({ ...reading.mill, db }, null),
    workers: await readLiveWorkers(db),
    nights: await readCalendar(db, {
      since: daysBefore(reading.today, shownNights - 1),
      until: reading.today,
      limit: 200,
    }),
    alerts: await listAlerts(db, { id: null, rule: null, standing: true, limit: mostAlerts }),
  }))
}

async function readStanding(db: Database, memory: object, day: string | null) {
  const days = await chooseDays(db, { day, since: null })
  if (days === null) return null
  const week = (await chooseDays(db, { day, since: daysBefore(days.now.day, 7) })) ?? days
  const span = { since: daysBefore(days.now.day, trendDays - 1), until: days.now.day }
  const { ours, named } = await readNamed(db, span.until)
  const domains = named.slice(0, mostLines)
  return {
    days,
    week,
    ours,
    ...(await cached(memory, keyOf(days, week), () => readChanges(db, days, week))),
    rivals: await readShareChanges(db, days, ours),
    shares: await readHeldDays(db, { domains, ...span }),
    ...(await readMarks(db, span)),
  }
}

const cached = storedFigures<Awaited<ReturnType<typeof readChanges>>>(20)

/** Key for caching the changes between the given days; null if one of the days is not stored. */
function keyOf(days: KeywordDays, week: KeywordDays): string | null {
  const versions = [days.now, days.before, week.before].map(({ stored }) => stored)
  return versions.includes(null) ? null : versions.join(' ')
}

async function readChanges(db: Database, days: KeywordDays, week: KeywordDays) {
  const gains = async (won: boolean) => ({
    keywords: await readGains(db, days, { what: 'keyword', won, limit: shownGains }),
    pages: await readGains(db, days, { what: 'page', won, limit: shownGains }),
  })
  return {
    counts: { day: await readKeywordCounts(db, days), week: await readKeywordCounts(db, week) },
    won: await gains(true),
    lost: await gains(false),
  }
}

export async function readNamed(db: Database, day: string) {
  const ours = await readOursOn(db, day)
  const rivals = await db
    .selectFrom('rival_domains')
    .select('domain')
    .distinct()
    .where((eb) => eb.or([eb('since', 'is', null), eb('since', '<=', day)]))
    .where((eb) => eb.or([eb('until', 'is', null), eb('until', '>=', day)]))
    .orderBy('domain')
    .execute()
  return { ours, named: [...new Set([...ours, ...rivals.map(({ domain }) => domain)])] }
}

async function readShareChanges(
  db: Database,
  { now, before }: KeywordDays,
  ours: readonly string[],
) {
  const { rows } = await sql<{ domain: string; share: number; previous: number }>`
    select *
    from (
      select
        domain,
        coalesce(max(share_of_voice) filter (where run_date = ${now.day}), 0) as share,
        coalesce(max(share_of_voice) filter (where run_date = ${before.day}), 0) as previous
      from analysis.share_of_voice
      where tag = '*'
        and run_date = any(array[${now.day}, ${before.day}]::date[])
        and domain <> all(${ours}::text[])
      group by domain
    ) as sides
    order by abs(share - previous) desc, domain
    limit ${shownRivals}`.execute(db)
  return rows
}

const noAnswers = nothing(
  'No list has been read. Visibility, ranks and changes will be shown here.',
  npmRun('enqueue inputs/keywords.csv'),
)

export function overviewLead({ standing }: OverviewFound): string {
  if (standing === null) return 'No queries have been asked yet.'
  const { days, counts } = standing
  const { up, down, entered, left } = counts.day
  const now = ourShare(standing, days.now.day)
  const share = now === null ? '' : `share of voice ${(now * 100).toFixed(2)} %, `
  return `${days.now.day}: ${share}${numberText(up + entered)} keywords up or new, ${numberText(down + left)} down or gone since ${days.before.day}.`
}

/** Combined click share of all of our own domains on a day; null if the share is unknown. */
function ourShare({ shares, ours }: Standing, day: string): number | null {
  const own = shares.filter(({ domain, thin }) => ours.includes(domain) && !thin)
  // Uses the most recent earlier share if the day has no share.
  const last = own
    .map(({ runDate }) => runDate)
    .filter((date) => date <= day)
    .toSorted()
    .at(-1)
  const held = own.filter(({ runDate }) => runDate === last)
  return held.length === 0 ? null : held.reduce((sum, { share }) => sum + (share ?? 0), 0)
}

interface Task {
  readonly tone: 'bad' | 'warn'
  readonly text: string
  /** Command to run; undefined if a page should be opened instead. */
  readonly line?: string
  readonly path?: string
}

const recentDays = 7

export function tasksOf(
  found: OverviewFound,
  { today, zone }: Pick<PagePlace, 'today' | 'zone'>,
): readonly Task[] {
  const tasks = [...stateTasks(found, zone), ...nightTasks(found, daysBefore(today, recentDays))]
  return tasks.toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'))
}

function* stateTasks(found: OverviewFound, zone: string): Generator<Task> {
  const { state, workers, standing } = found
  for (const { reason, detail } of state.account?.stops ?? []) {
    const text = `Buying has stopped (${reason.replace('_', ' ')}): ${detail}`
    yield { tone: 'bad', text, line: nextStep(state) }
  }
  const { topUpBy } = creditsOf(found)
  if (topUpBy !== null) {
    const text = `Top up by ${localDate(zone, topUpBy)}; on that day, the credit floor will be reached.`
    yield { tone: 'bad', text, path: '/money' }
  }
  const open = state.runs.reduce((sum, { tasks }) => sum + tasks.open, 0)
  if (open > 0 && workers.length === 0) {
    const text = `${count(open, 'open task')}, but no worker is running.`
    yield { tone: 'bad', text, line: npmRun('work') }
  }
  for (const { schedule, overdue } of state.summaries) {
    if (overdue.length > 0)
      yield { tone: 'bad', text: `Schedule ${schedule} is overdue.`, path: '/operations' }
  }
  if (standing !== null && standing.ours.length === 0) {
    const text = 'No domain is marked as yours, so no keyword has a rank.'
    yield { tone: 'warn', text, line: `${npmRun('domains --')} set example.com` }
  }
}

/** Lists each bad night once, with the reason and the number of unanswered queries. */
function* nightTasks({ nights, state }: OverviewFound, since: string): Generator<Task> {
  const failures = new Map(state.runs.map(({ run, tasks }) => [run, tasks.failed + tasks.unknown]))
  for (const { list, run_date: date, run, suspect, reasons, outcome } of nights) {
    if (date < since || !(suspect || outcome === 'missed' || outcome === 'failed')) continue
    const why = suspect ? `is left out as suspect: ${reasons.join('; ')}` : `was ${outcome}`
    const text = `The night of ${date} (${list}) ${why}.`
    if (run === null) yield { tone: 'warn', text, path: '/nights' }
    else yield runTask(run, text, failures.get(run) ?? 0)
    if (run !== null) failures.delete(run)
  }
  for (const { run, list, run_date: date } of state.runs) {
    const wrong = failures.get(run) ?? 0
    if (wrong > 0 && date >= since) yield runTask(run, `Run ${run} (${list}, ${date}):`, wrong)
  }
}

function runTask(run: number, text: string, wrong: number): Task {
  const task = { tone: 'warn', text, path: `/runs/${run}` } as const
  if (wrong === 0) return task
  const words = `${text} ${count(wrong, 'task')} failed or ${wrong === 1 ? 'has' : 'have'} an unknown outcome.`
  return { ...task, text: words, line: `${npmRun('retry --')} --run ${run}` }
}

const shownTasks = 8

function drawTasks(found: OverviewFound, place: PagePlace): Html {
  const tasks = tasksOf(found, place)
  if (tasks.length === 0) return html`<p class="calm" role="status">✓ No action needed.</p>`
  const more = tasks.length - shownTasks
  const shown = tasks
    .slice(0, shownTasks)
    .map(
      ({ text, line, path }) =>
        html`${path === undefined ? text : to(place.href(path), text)}${line === undefined ? null : html` ${command(line)}`}`,
    )
  return html`<section class="state ${tasks[0]?.tone ?? 'warn'}">
    <h2>${count(tasks.length, 'thing')} to look at</h2>
    ${lines(shown, 'news')}
    ${more <= 0 ? null : html`<p>${to(place.href('/operations'), `and ${numberText(more)} more`)}</p>`}
  </section>`
}

function drawStanding(found: Standing, place: PagePlace): Html {
  const picture = 'Share of voice of our domains and of competitors, day by day'
  const about = html`Estimated share of clicks, based on each domain's best positions and the
  queries' weights. ${to(place.href('/domains'), 'All domains')}`
  return html`${drawTiles(found, place)}
    ${found.shares.length === 0 ? null : drawShares(found, { picture, about }, place)}
    <div class="pair">${drawDistribution(found, place)} ${drawRivals(found, place)}</div>
    <div class="pair">${drawGains('won', found, place)} ${drawGains('lost', found, place)}</div>`
}

function drawTiles(found: Standing, place: PagePlace): Html {
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
  return tiles([
    ['share of voice of our domains', percent(now)],
    [`points since ${days.before.day}`, since(days.before.day)],
    [`points since ${week.before.day}`, since(week.before.day)],
    ['keywords up', way('up')],
    ['keywords down', way('down')],
    ['entered the results', way('entered')],
    ['left the results', way('left')],
  ])
}

function drawDistribution({ days, week, counts }: Standing, place: PagePlace): Html {
  const { day } = counts
  const rows = rankRanges.map((range) => {
    return { range, keywords: day[range], share: day[range] / Math.max(1, day.keywords) }
  })
  const { up, down, entered, left } = counts.week
  return tableSection(
    {
      id: 'distribution',
      title: 'Ranks',
      about: html`Since ${week.before.day}: ${numberText(up)} up, ${numberText(down)} down,
      ${numberText(entered)} entered, ${numberText(left)} left.
      ${to(place.href('/keywords', { since: week.before.day, change: 'any', sort: 'change' }), 'See these keywords')}`,
    },
    rows,
    [
      column.word('Rank', ({ range }) => {
        const filters = { day: days.now.day, rank: range, sort: 'rank' }
        const words = range === 'none' ? 'not ranked' : range.replace('-', ' to ')
        return to(place.href('/keywords', filters), words)
      }),
      column.right('Keywords', ({ range, keywords }) => figure(`rank ${range}`, keywords)),
      column.share('Share', 'share'),
      column.plain('Of all', ({ share }) => shareBar(share)),
    ],
  )
}

function drawRivals({ rivals, days }: Standing, place: PagePlace): Html {
  return tableSection(
    {
      id: 'competitors',
      title: 'Competitors that moved most',
      about: `Between ${days.before.day} and ${days.now.day}.`,
      empty: 'Competitors that won or lost share will be shown here.',
    },
    rivals,
    [
      column.plain('Domain', ({ domain }) => toDomain(place, domain)),
      column.share('Share', 'share'),
      column.change('Points', ({ share, previous }) => share - previous),
    ],
  )
}

function drawGains(
  id: 'won' | 'lost',
  { [id]: { keywords, pages }, days }: Standing,
  place: PagePlace,
) {
  const rank = (value: number | null) => value ?? '–'
  const draw = (kind: 'keywords' | 'pages', gains: readonly Gain[], about: string | null) =>
    tableSection(
      {
        id: kind === 'pages' ? `${id}-pages` : id,
        title: `${id === 'won' ? 'Biggest gains' : 'Biggest losses'}: ${kind}`,
        about,
        empty: 'No changes between these days.',
      },
      gains,
      [
        kind === 'pages'
          ? column.plain('Page', ({ id: page, name }) => toPage(place, page, name))
          : column.plain('Keyword', ({ id: query, name }) =>
              toQuery(place, query ?? '', name ?? ''),
            ),
        column.word('Rank', (gain) => `${rank(gain.previous)} → ${rank(gain.rank)}`),
        column.clicks('Clicks', 'clicks'),
      ],
    )
  const about = `Measured in clicks, from ${days.before.day} to ${days.now.day}.`
  return html`<div>${draw('keywords', keywords, about)} ${draw('pages', pages, null)}</div>`
}

type Severity = (typeof severities)[number]

const alertWords: Readonly<Record<string, readonly [string, Severity]>> = {
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

export function groupAlerts(alerts: readonly AlertRow[]) {
  const kind = ({ what, position, previous_position: before }: AlertRow) => {
    if (what !== 'moved' && what !== 'crossed') return what
    return `${what} ${(position ?? Infinity) < (before ?? Infinity) ? 'up' : 'down'}`
  }
  return [...groupBy(alerts, (alert) => `${alert.run_date} ${kind(alert)}`).values()]
    .flatMap((own) => {
      const [first] = own
      if (first === undefined) return []
      const [words, severity] = alertWords[kind(first)] ?? [first.what, 'warn' as const]
      const text = `${numberText(own.length)} × ${words}`
      return [{ date: first.run_date, severity, text, alerts: own }]
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
  const titles = { id: 'alerts', title: 'Alerts' }
  if (groups.length === 0) {
    const text = 'There are no open alerts. Open alerts will be shown here, by night and severity.'
    return section(titles, nothing(text, `${npmRun('alerts --')} rules`))
  }
  const names = { bad: 'severe', warn: 'warning', good: 'gain' } as const
  return section(
    { ...titles, count: alerts.length, about: 'Open alerts, by night.' },
    groups.slice(0, shownGroups).map(
      ({ date, severity, text, alerts: own }, index) =>
        html`<details id="alerts-${index}">
          <summary>${badge(names[severity], severity)} ${date}: ${text}</summary>
          ${lines(
            own.slice(0, shownAlerts).map((alert) => drawAlert(alert, place)),
            'news',
          )}
          ${own.length <= shownAlerts ? null : html`<p>${numberText(own.length - shownAlerts)} more: ${command(npmRun('alerts'))}</p>`}
        </details>`,
    ),
  )
}

function drawAlert(alert: AlertRow, place: PagePlace): Html {
  const { query_id: query, run_date: day, base_run_date: beside } = alert
  const both = query === null ? null : toNight(place, query, { day, beside, text: 'both nights' })
  return html`${given(alert.text)} ${both}`
}

function drawNights({ nights }: OverviewFound, place: PagePlace): Html {
  return section(
    { id: 'nights', title: 'Nights', about: to(place.href('/nights'), 'The calendar') },
    nights.length === 0
      ? nothing('There were no nights in the last two weeks.', `${npmRun('nightly --')} --show`)
      : [...groupBy(nights, ({ list }) => list)].map(
          ([list, own]) =>
            html`<h3>${given(list)}</h3>
              <ol class="days strip">
                ${[...groupBy(own, ({ run_date: date }) => date)]
                  .toSorted(([a], [b]) => a.localeCompare(b))
                  .map(([date, entries]) => drawDay(Number(date.slice(8)), entries, place))}
              </ol>`,
        ),
  )
}

/** Maximum number of days to predict; later dates are not meaningful. */
const mostDaysAhead = 3_650

/** Predicts how long the balance will last. Values that cannot be predicted are null. */
export function creditsOf({ forecast }: OverviewFound) {
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
  // If the floor is not reached in the coming week, a later date is estimated from recent prices.
  const estimate = left > mostDaysAhead ? null : new Date(now.getTime() + left * dayMs)
  const perNight = steps.length === 0 ? perDay : (perDay * days) / steps.length
  const nights = Math.max(0, Math.floor((balance - floor) / perNight))
  return { nights, topUpBy, lastsUntil: topUpBy ?? estimate }
}

function drawCredits(found: OverviewFound, place: PagePlace): Html {
  const { state } = found
  const { nights, lastsUntil } = creditsOf(found)
  const open = state.runs
    .filter((one) => one.state === 'open' || one.state === 'planning')
    .map(({ run, list, tasks }) => {
      const link = toRun(place, run, `Run ${run} of ${list}`)
      return html`${link}: ${count(tasks.open, 'open task')}`
    })
  return section(
    { id: 'credits', title: 'Credits and runs', about: to(place.href('/money'), 'Money') },
    html`${tiles([
        ['credits left', figure('account.remaining', state.account?.remaining ?? null)],
        ['nights until the floor at recent prices', figure('nights', nights)],
        ['top up by this day', lastsUntil === null ? unknown : localDate(place.zone, lastsUntil)],
      ])}
      ${open.length === 0 ? html`<p>No run is open.</p>` : lines(open)}
      <p>${to(place.href('/operations'), 'Runs, workers and schedules')}</p>`,
  )
}
