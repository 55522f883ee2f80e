// Finds the files that the command line names, directly or by patterns.

import { readdir, stat } from 'node:fs/promises'
import { basename, extname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { codeOf, Misuse } from '../../base/errors.ts'

export interface ListFile {
  /** Null for standard input. */
  readonly path: string | null
  readonly shown: string
  readonly name: string
}

interface FileArguments {
  readonly args: readonly string[]
  /** Working directory of the command. */
  readonly folder: string
  /** Configuration folder; its files are not lists. */
  readonly config: string
  readonly as?: string | undefined
}

const rejectedEnding = '.rejected.csv'

/** Resolves names and patterns to files, in order and without repetition. `skipped` are the files that are not lists. */
export async function findFiles(options: FileArguments) {
  const paths = new Map<string | null, string>()
  const skipped: string[] = []
  for (const arg of options.args) {
    for (const shown of await expand(arg, options.folder)) {
      if (shown === '-') paths.set(null, shown)
      else if (holdsNoList(shown, options)) skipped.push(shown)
      else paths.set(resolve(options.folder, shown), shown)
    }
  }
  if (paths.size === 0) throw nothingLeft(options.args, skipped)
  const files = [...paths].map(([path, shown]) => ({ path, shown, name: nameOf(path, options.as) }))
  refuseTwins(files, options.as)
  return { files, skipped }
}

function nothingLeft(args: readonly string[], skipped: readonly string[]): Misuse {
  const [first] = skipped
  if (first === undefined) {
    return new Misuse(`expected a file for ${args.join(' ')}, got nothing; check the path`)
  }
  const why = first.endsWith(rejectedEnding)
    ? 'rejected lines; correct them in the list itself'
    : 'settings; choose a list of queries'
  return new Misuse(`expected a list of queries, got ${first}, which holds ${why}`)
}

function holdsNoList(shown: string, { folder, config }: FileArguments): boolean {
  const path = resolve(folder, shown)
  return path.endsWith(rejectedEnding) || path.startsWith(config + sep)
}

export function nameOfList(path: string): string {
  const whole = path.replace(/\.gz$/i, '')
  const name = basename(whole, extname(whole))
    .normalize('NFC')
    .replace(/\p{Cc}/gu, ' ')
    .trim()
  return name === '' ? basename(path) : name
}

function nameOf(path: string | null, as: string | undefined): string {
  return as ?? (path === null ? 'stdin' : nameOfList(path))
}

/** Rejects lists with the same name. */
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

async function expand(arg: string, folder: string): Promise<readonly string[]> {
  if (arg === '-' || !/[*?]/.test(arg) || (await isThere(resolve(folder, arg)))) return [arg]
  const parts = arg.split('/')
  const first = parts.findIndex((part) => /[*?]/.test(part))
  const fixed = parts.slice(0, first).map((part) => `${part}/`)
  const base = resolve(folder, fixed.join(''))
  const pattern = patternOf(parts.slice(first).filter((part) => part !== '' && part !== '.'))
  const found = (await filesBelow(base, parts.length - first > 1))
    .filter((path) => pattern.test(relative(base, path)))
    .toSorted()
  if (found.length === 0)
    throw new Misuse(`expected files that match ${arg}, got none; check the path`)
  return found.map((path) => (isAbsolute(arg) ? path : relative(folder, path)))
}

/** A file's name may contain the characters of patterns. */
async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => !found.isDirectory(),
    () => false,
  )
}

/** Only a part that begins with a dot matches hidden files and folders. */
function patternOf(parts: readonly string[]): RegExp {
  const patterns = parts.map((part, at) => {
    if (part === '**') return '(?:[^./][^/]*/)*'
    const literal = part.replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    const names = literal.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')
    return `${part.startsWith('.') ? '' : '(?!\\.)'}${names}${at < parts.length - 1 ? '/' : ''}`
  })
  return new RegExp(`^${patterns.join('')}$`, 'su')
}

async function filesBelow(folder: string, recursive: boolean): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive })
    const files = entries.filter((entry) => !entry.isDirectory())
    return files.map(({ parentPath, name }) => join(parentPath, name))
  } catch (cause) {
    const code = codeOf(cause)
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw new Misuse(`expected ${folder} to be a readable folder, got ${code ?? 'an error'}`, {
      cause,
    })
  }
}
