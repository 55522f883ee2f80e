import { roomOf } from './floors.ts'
import { importsOf } from './imports.ts'
import type { Tree } from './tree.ts'

/**
 * The files of a room that others may import; what is not named here is the room's own business. A room that is not
 * named has one door: the file of its own name (`commands/sql/sql.ts`), or itself where it is a single file.
 */
export const doors: Readonly<Record<string, readonly string[]>> = {
  'commands/alerts': ['alerts', 'screen'],
  'commands/cadence': ['cadence', 'lines'],
  'commands/chaos': ['command'],
  'commands/desk': [
    'assets',
    'desk',
    'layout',
    'page',
    'pages/domain/holdings',
    'pages/domain/moves',
    'pages/domain/read',
    'pages/domain/rivals',
    'pages/domain/shares',
    'pages/lists/coverage',
    'pages/money/money',
    'pages/nights/nights',
  ],
  'commands/drawing': [
    'axis',
    'bands',
    'bars',
    'change',
    'html',
    'lines',
    'notes',
    'numbers',
    'parts',
    'picture',
    'style',
    'variants',
  ],
  'commands/enqueue': [
    'agree',
    'command',
    'enqueue',
    'estimate',
    'intake',
    'planning',
    'result',
    'staging',
  ],
  'commands/expand': ['command', 'intake'],
  'commands/export': ['export', 'rows', 'target'],
  'commands/mill': [
    'alerts/alerts',
    'archive/address',
    'archive/asked',
    'archive/bucket',
    'archive/disk',
    'archive/engine',
    'archive/files',
    'archive/flags',
    'archive/manifest',
    'archive/place',
    'archive/places',
    'cadence/bounds',
    'cadence/cadence',
    'cadence/days',
    'cadence/draws',
    'cadence/night',
    'cadence/receipt',
    'cadence/replay',
    'cadence/tally',
    'after-runs',
    'kept-outlook',
    'mill',
    'night-health',
    'outlook',
    'parquet/write',
    'rebuild',
    'supplier',
  ],
  'commands/monitor': ['command', 'monitor', 'news'],
  'commands/nightly': ['cadence', 'command'],
  'commands/package': ['dispatch'],
  'commands/statement': ['lines', 'statement'],
  'commands/status': ['look', 'nights', 'screen', 'status'],
  'commands/work': ['command', 'tally', 'work'],
  credits: [
    'account',
    'admission',
    'change',
    'decide',
    'decision',
    'entry',
    'foresee',
    'months',
    'prices',
    'prospect',
    'record',
    'reserve',
    'rows',
    'triage',
    'tries',
  ],
  embedded: ['port', 'postgres', 'postmaster', 'program', 'service'],
  lists: [
    'agreed',
    'files',
    'flags',
    'mapping',
    'open',
    'read',
    'rejects',
    'requests',
    'rows',
    'source',
    'table',
    'values',
  ],
  queue: ['migrate', 'open', 'refill', 'slices', 'tick'],
  search: ['call', 'lane', 'parse', 'policy', 'verdict'],
  service: [
    'corpus-command',
    'corpus/load',
    'keys-command',
    'service-command',
    'spoiling-front',
    'standin/standin',
    'start',
  ],
}

/** Rooms that all stand on: every file of them is there for others. */
const open = ['shared', 'store']

/** Imports of something behind the doors of its room, as `from -> to`. Tests may look anywhere. */
export function pastDoors(tree: Tree): string[] {
  return entries(tree)
    .filter(({ to }) => !doorsOf(roomOf(to)).includes(to))
    .map(({ from, to }) => `${from} -> ${to}`)
}

/** Doors that nobody goes through: they are to be closed. */
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
