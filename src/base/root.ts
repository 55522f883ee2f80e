// Finds the program's folder and the user's working folder.

import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Folder with `sql/`, `inputs/` and `package.json`. The program may run from its sources or from `dist`. */
export const root = findRoot(dirname(fileURLToPath(import.meta.url)))

/** True if a package manager installed the program. User files must not be written to an installed package. */
const installed = basename(dirname(root)) === 'node_modules'

/** True in a checkout, where `npm run NAME` starts a command. */
export const isCheckout = !installed && existsSync(join(root, 'run.mjs'))

/** True in the Docker image, where `querymill` is on the path and nothing can be installed. */
export const isImage = !installed && !isCheckout

/** Folder of `.env`, `inputs/` and `.querymill`: the checkout or, for an installed package, the current folder. */
export const workplace = installed ? process.cwd() : root

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder
  const above = dirname(folder)
  if (above === folder)
    throw new Error('expected a package.json in a folder above the program, got none')
  return findRoot(above)
}
