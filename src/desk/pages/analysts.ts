import type { DeskPage, FilePage } from '../page.ts'
import { askPage, questionFile, questionPage, sqlFile, sqlPage } from './ask.ts'
import { domainPage, domainsPage } from './domain.ts'
import { keywordsFile, keywordsPage } from './keywords.ts'
import { listPage, listsPage } from './lists.ts'
import { onePage } from './page.ts'
import { keptBody, queryNightPage } from './query-night.ts'
import { queriesPage, queryPage, suggestions } from './query.ts'

/** What analysts ask: queries, domains, pages, lists, and questions of their own. */
export const analystPages: readonly DeskPage[] = [
  keywordsPage,
  queriesPage,
  queryPage,
  queryNightPage,
  domainsPage,
  domainPage,
  onePage,
  listsPage,
  listPage,
  askPage,
  questionPage,
  sqlPage,
]

/** Their answers as files. */
export const analystFiles: readonly FilePage[] = [
  keywordsFile,
  suggestions,
  keptBody,
  questionFile,
  sqlFile,
]
