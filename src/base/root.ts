// Finds the folder of the program and that of the person who uses it.

import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the program: `sql/`, its own `inputs/` and `package.json` lie here, whether sources or `dist` run. */
export const root = findRoot(dirname(fileURLToPath(import.meta.url)))

/** True: a package manager put the program there. What a person writes does not belong into its folder. */
export const installed = basename(dirname(root)) === 'node_modules'

/** Folder of `.env`, `inputs/` and `.querymill`: the checkout, or the current folder with an installed package. */
export const workplace = installed ? process.cwd() : root

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  if (above === folder) throw new Error('expected a package.json above the program, got none')
  return findRoot(above)
}
