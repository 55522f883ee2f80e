import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.ts'

/** One file of `sql/migrations`. */
export interface MigrationFile {
  readonly name: string
  readonly text: string
  readonly sha256: string
}

/** Where the migrations of this program lie. */
const migrationFolder = join(root, 'sql', 'migrations')

/** All migrations, in the order in which they are applied. */
export function readMigrations(folder = migrationFolder): readonly MigrationFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .toSorted()
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      // A checkout that rewrites line ends has not edited the file.
      const sha256 = hash('sha256', text.replaceAll('\r\n', '\n'), 'hex')
      return { name: name.slice(0, -'.sql'.length), text, sha256 }
    })
}
