import type { DeskPage } from '../page.ts'
import { cadencePage } from './cadence.ts'
import { money, statementPage } from './money.ts'
import { night } from './night.ts'
import { nightsPage } from './nights.ts'
import { tonight } from './tonight.ts'

/** What operators ask: how it goes, how it went, what it costs. */
export const operatorPages: readonly DeskPage[] = [
  tonight,
  nightsPage,
  night,
  money,
  statementPage,
  cadencePage,
]
