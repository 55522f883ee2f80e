import { roomOf } from './floors.ts'
import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/**
 * Files of a room that other rooms may import; all other files are private to the room. A room that is not listed has
 * one door: the file with its own name (`features/forget/forget.ts`), or the room itself if it is a single file.
 */
export const doors: Readonly<Record<string, readonly string[]>> = {
  'core/answers': ['store'],
  'core/enqueue': [
    'command',
    'enqueue',
    'flags',
    'order',
    'planning',
    'result',
    'staging',
    'summary',
  ],
  'core/forecast': ['command', 'forecast', 'foresee', 'stored-forecast'],
  'core/ledger': [
    'account',
    'admission',
    'books',
    'change-tasks',
    'entry',
    'leases',
    'money',
    'prices',
    'reserve',
    'settle',
    'standstill',
    'statement',
    'waiting',
  ],
  'core/lists': [
    'files',
    'open',
    'options',
    'read',
    'rejects',
    'rows',
    'source',
    'table',
    'values',
  ],
  'core/nights': ['after-runs', 'finish', 'health', 'judge', 'nights'],
  'core/queue': ['minute-clock', 'open-slices', 'queue', 'refill', 'slice-jobs'],
  'core/runs': [
    'status-command',
    'rebuild',
    'reparse',
    'retry',
    'run',
    'statement',
    'status',
    'waits',
  ],
  'core/scheduler': ['command', 'schedule', 'show'],
  'core/search': ['call', 'concurrency', 'parse', 'verdict'],
  'core/worker': ['command', 'summary', 'work'],
  desk: ['command', 'report/command'],
  'features/admin': ['budget', 'doctor', 'health', 'init', 'migrate', 'rebuild', 'stack'],
  'features/alerts': ['command', 'find-alerts', 'statements', 'trust-command'],
  'features/analysis': [
    'ask',
    'domains',
    'domains-command',
    'export-command',
    'library',
    'notes',
    'origins',
    'rows',
    'span',
    'sql-command',
    'target',
  ],
  'features/archive': ['command', 'load'],
  'features/cadence': ['choose', 'command'],
  'features/demo': ['command', 'spoiling-front'],
  'features/expand': ['command'],
  'features/forget': ['command', 'prune'],
  'features/notifications': ['command', 'monitor', 'news', 'webhook'],
  'features/package': ['querymill'],
  'features/verify': ['command'],
  service: ['command', 'corpus/command', 'keys-command', 'start'],
}

/** Rooms that all others use: every file of them may be imported. */
const open = ['base']

/** Imports of a private file of a room, as `from -> to`. Tests may import any file. */
export function pastDoors(tree: Tree): string[] {
  return entries(tree)
    .filter(({ to }) => !doorsOf(roomOf(to)).includes(to))
    .map(({ from, to }) => `${from} -> ${to}`)
}

/** Doors that no other room uses, which should be removed. */
export function idleDoors(tree: Tree): string[] {
  const used = new Set(entries(tree).map(({ to }) => to))
  return Object.keys(doors)
    .flatMap(doorsOf)
    .filter((door) => !used.has(door))
}

function entries(tree: Tree) {
  return importsOf(tree).filter(({ from, to, outside }) => {
    if (outside || !to.startsWith('src/') || from.startsWith('test/')) return false
    return roomOf(from) !== roomOf(to) && !open.includes(roomOf(to))
  })
}

function doorsOf(room: string): string[] {
  const own = room.slice(room.lastIndexOf('/') + 1)
  const named = doors[room]?.map((door) => `src/${room}/${door}.ts`)
  return named ?? [`src/${room}.ts`, `src/${room}/${own}.ts`]
}
