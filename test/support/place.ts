// temporaryFolder('home') → a new folder; withDatabase(url, 'mine') → the same server, another database. Separate from
// the server module, which loads the whole program: most test files need only these.
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that is removed after the tests; if they run as root, the server's own user can enter it. */
export function temporaryFolder(name: string, place = tmpdir()): string {
  const folder = mkdtempSync(join(place, `querymill-${name}-`))
  chmodSync(folder, 0o711)
  return folder
}

/** The same server, another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}
