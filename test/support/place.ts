// temporaryFolder('home') → a folder of one's own; withDatabase(url, 'mine') → the same server, another database.
// Apart from the server, which loads the whole mill: most files of tests want no more than these.
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder that goes away with the tests; the server's own user can walk into it when the tests run as root. */
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
