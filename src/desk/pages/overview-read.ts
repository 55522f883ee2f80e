// Reads the overview: the current state, changes, and anything that needs attention.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readCalendar } from '../../core/nights/nights.ts'
import { readTables } from '../../core/runs/status-command.ts'
import { readLiveWorkers } from '../../core/runs/waits.ts'
import { listAlerts } from '../../features/alerts/statements.ts'
import { readHeldDays, readOursOn } from '../../features/analysis/domains.ts'
import { readNotesBetween } from '../../features/analysis/notes.ts'
import { readSuspects } from '../../features/analysis/query-facts.ts'
import { daysBefore } from '../address.ts'
import type { DeskReading } from '../page.ts'
import { StoredFigures } from '../stored-figures.ts'
import { chooseDays, type KeywordDays, readGains, readKeywordCounts } from './keywords-read.ts'

export type OverviewFound = Awaited<ReturnType<typeof readOverview>>

export type ShareStanding = NonNullable<OverviewFound['standing']>

const trendDays = 30
const shownNights = 14
const shownGains = 5
const mostAlerts = 500
const mostLines = 7

type Parts = Pick<DeskReading, 'answers' | 'books' | 'forecast' | 'mill' | 'today'>

/** By default, reads the newest day. */
export async function readOverview(reading: Parts, day: string | null = null) {
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
    ...(await cached.get(memory, keyOf(days, week), () => readChanges(db, days, week))),
    rivals: await readShareChanges(db, days, ours),
    shares: await readHeldDays(db, { domains, tag: '*', ...span }),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
  }
}

const cached = new StoredFigures<Awaited<ReturnType<typeof readChanges>>>(20)

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

/** Reads our own domains on a day, and all named domains: first our own, then competitors' domains. */
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
  const view = sql<{
    domain: string
    run_date: string
    tag: string
    share_of_voice: number | null
  }>`analysis.share_of_voice`
  const sides = db
    .selectFrom(view.as('held'))
    .select('domain')
    .select((eb) => {
      const shareOn = (day: string) =>
        eb.fn.coalesce(
          eb.fn.max<number>('share_of_voice').filterWhere('run_date', '=', day),
          eb.lit(0),
        )
      return [shareOn(now.day).as('share'), shareOn(before.day).as('previous')]
    })
    .where('tag', '=', '*')
    .where((eb) => eb('run_date', '=', eb.fn.any(eb.val([now.day, before.day]))))
    .where((eb) => eb.not(eb('domain', '=', eb.fn.any(eb.val([...ours])))))
    .groupBy('domain')
  return db
    .selectFrom(sides.as('sides'))
    .selectAll()
    .orderBy(({ eb, fn }) => fn('abs', [eb('share', '-', eb.ref('previous'))]), 'desc')
    .orderBy('domain')
    .limit(4 * shownGains)
    .execute()
}
