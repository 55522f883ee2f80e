// All pages and files of the desk, in navigation order.

import type { DeskPage, FilePage } from '../page.ts'
import { askPage, questionFile, questionPage, sqlFile, sqlPage } from './ask.ts'
import { cadencePage } from './cadence.ts'
import { comparePage } from './compare.ts'
import { domainPage, domainsPage } from './domain.ts'
import { keywordsFile, keywordsPage } from './keywords.ts'
import { listPage, listsPage } from './lists.ts'
import { money, statementPage } from './money.ts'
import { night } from './night.ts'
import { nightsPage } from './nights.ts'
import { operationsPage } from './operations.ts'
import { overviewPage } from './overview.ts'
import { onePage } from './page.ts'
import { keptBody, queryNightPage } from './query-night.ts'
import { queryPage } from './query.ts'

export const pages: readonly DeskPage[] = [
  overviewPage,
  keywordsPage,
  queryPage,
  queryNightPage,
  comparePage,
  domainsPage,
  domainPage,
  onePage,
  operationsPage,
  nightsPage,
  night,
  money,
  statementPage,
  listsPage,
  listPage,
  cadencePage,
  sqlPage,
  askPage,
  questionPage,
]

export const files: readonly FilePage[] = [keywordsFile, keptBody, questionFile, sqlFile]
