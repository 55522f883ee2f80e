import type { FilePage, DeskPage } from '../page.ts'

/** What analysts ask: queries, domains, pages, lists, and questions of their own. */
export const analystPages: readonly DeskPage[] = []

/** Their answers as files. */
export const analystFiles: readonly FilePage[] = []
