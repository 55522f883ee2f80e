import type { FilePage, DeskPage } from '../page.ts'
import { askPage } from './ask/library.ts'
import { questionFile, questionPage } from './ask/question.ts'
import { sqlFile, sqlPage } from './ask/sql.ts'
import { domainPage } from './domain/domain.ts'
import { domainsPage } from './domain/domains.ts'
import { listPage } from './lists/list.ts'
import { listsPage } from './lists/lists.ts'
import { onePage } from './page/page.ts'
import { keptBody, queryNightPage } from './query/night.ts'
import { queryPage } from './query/query.ts'
import { queriesPage, suggestions } from './query/search.ts'

/** What analysts ask: queries, domains, pages, lists, and questions of their own. */
export const analystPages: readonly DeskPage[] = [
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
export const analystFiles: readonly FilePage[] = [suggestions, keptBody, questionFile, sqlFile]
