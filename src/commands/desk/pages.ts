import type { FilePage, DeskPage } from './page.ts'
import { analystFiles, analystPages } from './pages/analysts.ts'
import { operatorPages } from './pages/operators.ts'

/** Every page of the desk; the navigation shows those with a name, in this order. */
export const pages: readonly DeskPage[] = [...operatorPages, ...analystPages]

/** Every address that answers with a file. */
export const files: readonly FilePage[] = analystFiles
