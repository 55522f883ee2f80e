// has('chromium') → true if this machine has what some tests need besides Node; otherwise these tests are skipped. A
// run names each missing part once, at its end, with the number of skipped tests and the command that installs it.
// REQUIRE_PARTS=1 makes a missing part a failure.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { processEnvironment } from '../../src/base/config.ts'

export interface Part {
  readonly there: () => boolean
  readonly debian: string
  /** Null if no Homebrew package installs it where the tests look for it. */
  readonly macos: string | null
}

/** The interpreter of Debian's Python packages. */
export const python = '/usr/bin/python3'
export const pgbouncer = '/usr/sbin/pgbouncer'
export const chromium = processEnvironment()['CHROMIUM'] ?? '/usr/bin/chromium'
export const clusters = '/usr/lib/postgresql'

export const parts = {
  'redis-server': {
    there: () => onPath('redis-server'),
    debian: 'apt-get install redis-server',
    macos: 'brew install redis',
  },
  'redis-sentinel': {
    there: () => onPath('redis-sentinel'),
    debian: 'apt-get install redis-sentinel',
    macos: 'brew install redis',
  },
  openssl: {
    there: () => onPath('openssl'),
    debian: 'apt-get install openssl',
    macos: 'brew install openssl',
  },
  pgbouncer: {
    there: () => existsSync(pgbouncer),
    debian: 'apt-get install pgbouncer',
    macos: null,
  },
  postgresql: {
    there: () => onPath('psql') && existsSync(clusters) && readdirSync(clusters).length > 0,
    debian: 'apt-get install postgresql',
    macos: null,
  },
  chromium: {
    there: () => existsSync(chromium),
    debian: 'apt-get install chromium',
    macos: 'brew install chromium, and CHROMIUM=$(which chromium)',
  },
  prometheus: {
    there: () => onPath('prometheus') && onPath('promtool'),
    debian: 'apt-get install prometheus',
    macos: 'brew install prometheus',
  },
  pandas: {
    there: () => spawnSync(python, ['-c', 'import pandas, sqlalchemy, psycopg2']).status === 0,
    debian: 'apt-get install python3-pandas python3-sqlalchemy python3-psycopg2',
    macos: null,
  },
  openpyxl: {
    there: () => spawnSync(python, ['-c', 'import openpyxl']).status === 0,
    debian: 'apt-get install python3-openpyxl',
    macos: null,
  },
  'systemd-analyze': {
    there: () => onPath('systemd-analyze'),
    debian: 'apt-get install systemd',
    macos: null,
  },
} as const satisfies Record<string, Part>

export type PartName = keyof typeof parts

const found = new Map<PartName, boolean>()

/** True if this machine has the part; otherwise the tests that need it are skipped. */
export function has(name: PartName): boolean {
  const there = found.get(name) ?? parts[name].there()
  found.set(name, there)
  if (there || processEnvironment()['REQUIRE_PARTS'] !== '1') return there
  throw new Error(`expected ${name}, since REQUIRE_PARTS=1, got none; ${parts[name].debian}`)
}

/** A program on the path, or in Debian's folder for administrators' programs. */
function onPath(program: string): boolean {
  const folders = [...(processEnvironment()['PATH'] ?? '').split(delimiter), '/usr/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
