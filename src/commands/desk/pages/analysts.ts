import type { FilePage, DeskPage } from '../page.ts'
import { domainPage } from './domain/domain.ts'
import { domainsPage } from './domain/domains.ts'
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
]

/** Their answers as files. */
export const analystFiles: readonly FilePage[] = [suggestions, keptBody]
