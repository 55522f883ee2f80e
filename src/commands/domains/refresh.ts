import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readTable } from '../../lists/table.ts'
import { readDomains } from './file.ts'
import { root } from '../../shared/root.ts'
import { loadDomains, type LoadedDomains } from '../../store/analysis/domains.ts'
import { isReadersOnly } from '../../store/analysis/analyst.ts'
import type { Database } from '../../store/database.ts'

const shown = 'inputs/config/domains.csv'

/** Makes the table of our domains say what `inputs/config/domains.csv` says; no file changes nothing. */
export async function refreshDomains(
  db: Database,
  { zone, path = join(root, shown) }: { readonly zone: string; readonly path?: string },
): Promise<LoadedDomains> {
  if (!existsSync(path)) return { added: 0, ended: 0 }
  const domains = readDomains(await readTable(path, shown), shown)
  // Days begin where the runs' days begin.
  const today = new Intl.DateTimeFormat('sv', { timeZone: zone }).format(new Date())
  try {
    return await loadDomains(db, domains, today)
  } catch (error) {
    // An analyst's own login asks as well; what the table says then is what the owner read last.
    if (isReadersOnly(error)) return { added: 0, ended: 0 }
    throw error
  }
}
