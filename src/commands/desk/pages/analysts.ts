import type { FilePage, DeskPage } from '../page.ts'
import { keptBody, queryNightPage } from './query/night.ts'
import { queryPage } from './query/query.ts'
import { queriesPage, suggestions } from './query/search.ts'

/** What analysts ask: queries, domains, pages, lists, and questions of their own. */
export const analystPages: readonly DeskPage[] = [queriesPage, queryPage, queryNightPage]

/** Their answers as files. */
export const analystFiles: readonly FilePage[] = [suggestions, keptBody]
