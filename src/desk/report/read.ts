// Reads the data of the report.

import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { listFilter } from '../../base/database/views.ts'
import { type CalendarEntry, readCalendar } from '../../core/nights/nights.ts'
import {
  type FigureOptions,
  type Figures,
  mayReadBooks,
  readFigures,
} from '../../features/analysis/figures.ts'
import { readListDays, readListFacts } from '../../features/analysis/list-facts.ts'
import type { ReadSpan } from '../../features/analysis/span.ts'
import { type DomainFound, readDomain } from '../pages/domain.ts'
import type { CoverageFound } from '../pages/lists.ts'
import { type AccountsFound, readAccountsFound, readRises } from '../pages/money.ts'
import { mostEntries } from '../pages/nights.ts'

export interface ReportFound {
  readonly figures: Figures
  /** Data for the page of each selected domain. */
  readonly held: readonly DomainFound[]
  readonly lists: readonly CoverageFound[]
  /** Credits and operations; null if the login may not read them. */
  readonly books: Books | null
  readonly zone: string
}

interface Books {
  readonly nights: readonly CalendarEntry[]
  readonly money: AccountsFound
}

export interface ReportOrder extends FigureOptions {
  readonly config: Pick<Config, 'renewal' | 'zone'>
}

const mostLists = 5

/** Reads the report in one snapshot, with the statements of the desk's pages. */
export async function readReport(
  trx: Database,
  { config, ...options }: ReportOrder,
): Promise<ReportFound> {
  const figures = await readFigures(trx, options)
  const { span } = figures
  const isChosen = listFilter(options.slice)
  return {
    figures,
    held: await readHeld(trx, figures),
    lists: await readLists(trx, span, isChosen),
    books: (await mayReadBooks(trx)) ? await readBooksOf(trx, figures, { config, isChosen }) : null,
    zone: config.zone,
  }
}

/** Reads the domains with position changes on the newest full day, and notes numbered as in the whole report. */
async function readHeld(
  trx: Database,
  { domains, span, day, previous, notes, suspect }: Figures,
): Promise<readonly DomainFound[]> {
  const until = day ?? span.until
  const compared = { since: previous ?? until, until, cut: false }
  const held: DomainFound[] = []
  for (const known of domains) {
    held.push(await readDomain(trx, known, { span, compared, notes, suspect }))
  }
  return held
}

async function readLists(
  trx: Database,
  span: ReadSpan,
  isChosen: (list: string) => boolean,
): Promise<readonly CoverageFound[]> {
  const all = await readListFacts(trx, null)
  const newest = all
    .filter(({ name, runDate }) => isChosen(name) && runDate !== null && runDate >= span.since)
    .toSorted((a, b) => ((a.runDate ?? '') < (b.runDate ?? '') ? 1 : -1))
    .slice(0, mostLists)
  const lists: CoverageFound[] = []
  for (const list of newest) {
    lists.push({ list, span, days: await readListDays(trx, { name: list.name, ...span }) })
  }
  return lists
}

async function readBooksOf(
  trx: Database,
  { span, origins }: Figures,
  {
    config,
    isChosen,
  }: Pick<ReportOrder, 'config'> & { readonly isChosen: (list: string) => boolean },
): Promise<Books> {
  const zoned = { ...span, zone: config.zone }
  const { accounts: purses, points, costs } = await readAccountsFound(trx, zoned)
  const nights = await readCalendar(trx, { ...span, limit: mostEntries })
  return {
    nights: nights.filter(({ list }) => list === null || isChosen(list)),
    money: {
      accounts: purses.filter(({ origin }) => origins.includes(origin)),
      points,
      costs,
      events: await readRises(trx, zoned, config),
    },
  }
}
