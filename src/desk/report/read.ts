// Reads the data of the report.

import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { listFilter } from '../../base/database/views.ts'
import { readCalendar } from '../../core/nights/nights.ts'
import {
  type FigureOptions,
  type Figures,
  mayReadBooks,
  readFigures,
} from '../../features/analysis/figures.ts'
import { readListDays, readListFacts } from '../../features/analysis/list-facts.ts'
import { type DomainFound, readDomain } from '../pages/domain.ts'
import type { CoverageFound } from '../pages/lists.ts'
import { readAccountsFound, readRises } from '../pages/money.ts'
import { mostEntries } from '../pages/nights.ts'

export type ReportFound = Awaited<ReturnType<typeof readReport>>

export interface ReportOrder extends FigureOptions {
  readonly config: Pick<Config, 'renewal' | 'zone'>
}

const mostLists = 5

/** Reads the report in one snapshot, with the statements of the desk's pages. */
export async function readReport(trx: Database, { config, ...options }: ReportOrder) {
  const figures = await readFigures(trx, options)
  const isChosen = listFilter(options.slice)
  return {
    figures,
    // The pages of the chosen domains.
    held: await readHeld(trx, figures),
    lists: await readLists(trx, figures, isChosen),
    // Credits and operations; null if the login may not read them.
    books: (await mayReadBooks(trx)) ? await readBooks(trx, figures, { config, isChosen }) : null,
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
  { span }: Figures,
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

async function readBooks(
  trx: Database,
  { span, origins }: Figures,
  {
    config,
    isChosen,
  }: Pick<ReportOrder, 'config'> & { readonly isChosen: (list: string) => boolean },
) {
  const zoned = { ...span, zone: config.zone }
  const money = await readAccountsFound(trx, zoned)
  const nights = await readCalendar(trx, { ...span, limit: mostEntries })
  return {
    nights: nights.filter(({ list }) => list === null || isChosen(list)),
    money: {
      ...money,
      accounts: money.accounts.filter(({ origin }) => origins.includes(origin)),
      events: await readRises(trx, zoned, config),
    },
  }
}
