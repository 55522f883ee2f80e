// Finds the lists named on the command line.

import { basename, extname, resolve, sep } from 'node:path'
import { Misuse } from '../../base/errors.ts'
import { rejectsEnding } from './rejects.ts'

export interface ListFile {
  /** Null for standard input. */
  readonly path: string | null
  readonly shown: string
  readonly name: string
}

interface FileArguments {
  readonly args: readonly string[]
  readonly folder: string
  /** Folder of configuration files, which are not lists. */
  readonly config: string
  readonly as?: string | undefined
}

/** Resolves names to files, in order and without duplicates. `skipped` contains the files that are not lists. */
export function findFiles({ args, folder, config, as }: FileArguments) {
  const paths = new Map<string | null, string>()
  const skipped: string[] = []
  for (const shown of args) {
    const path = resolve(folder, shown)
    if (shown === '-') paths.set(null, shown)
    else if (path.endsWith(rejectsEnding) || path.startsWith(config + sep)) skipped.push(shown)
    else paths.set(path, shown)
  }
  const [first] = skipped
  if (paths.size === 0 && first !== undefined) {
    const why = first.endsWith(rejectsEnding)
      ? 'rejected lines; correct the lines in the original list'
      : 'settings; choose a list of queries'
    throw new Misuse(`expected a list of queries, got ${first}, which contains ${why}`)
  }
  const files = [...paths].map(([path, shown]) => {
    return { path, shown, name: as ?? (path === null ? 'stdin' : nameOfList(path)) }
  })
  refuseTwins(files, as)
  return { files, skipped }
}

export function nameOfList(path: string): string {
  const whole = path.replace(/\.gz$/i, '')
  const name = basename(whole, extname(whole))
    .normalize('NFC')
    .replace(/\p{Cc}/gu, ' ')
    .trim()
  return name === '' ? basename(path) : name
}

export function refuseTwins(files: readonly ListFile[], as: string | undefined): void {
  if (as !== undefined && files.length > 1) {
    throw new Misuse(
      `expected one list with --as, got ${files.length} lists; enqueue them one by one`,
    )
  }
  const seen = new Map<string, string>()
  for (const { name, shown } of files) {
    const other = seen.get(name)
    if (other !== undefined) {
      throw new Misuse(
        `expected lists with different names, got ${other} and ${shown}, both named ${JSON.stringify(name)}; enqueue them one by one, with --as NAME`,
      )
    }
    seen.set(name, shown)
  }
}
