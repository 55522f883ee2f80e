import type { DeskPage } from '../page.ts'
import { tonight } from './tonight/tonight.ts'

/** What operators ask: how it goes, how it went, what it costs. */
export const operatorPages: readonly DeskPage[] = [tonight]
