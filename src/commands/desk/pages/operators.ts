import type { DeskPage } from '../page.ts'
import { cadencePage } from './cadence/cadence.ts'
import { money } from './money/money.ts'
import { statementPage } from './money/statement.ts'
import { night } from './nights/night.ts'
import { nights } from './nights/nights.ts'
import { tonight } from './tonight/tonight.ts'

/** What operators ask: how it goes, how it went, what it costs. */
export const operatorPages: readonly DeskPage[] = [
  tonight,
  nights,
  night,
  money,
  statementPage,
  cadencePage,
]
