// Flags of `npm run expand`, validated.
import { npmRun } from '../../base/cli/commands.ts'
import { countFlag, wholeFlag } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { typedName } from '../../core/enqueue/flags.ts'
import { readFilter, type TextFilter, type TypedFilter } from './choose.ts'

/** Flags of `npm run expand --`. */
export interface ExpandFlags extends TypedFilter {
  readonly list?: string
  readonly as?: string
  readonly credits?: string
  readonly depth?: string
  readonly yes?: true
}

/** Validated settings of an expansion. */
export interface ExpandOrder {
  readonly list: string
  /** Name of the target list. */
  readonly into: string
  /** Maximum credits for all rounds together. */
  readonly credits: number
  readonly depth: number
  readonly wanted: TextFilter
}

const mostDepth = 20
// Contains no comma or space, because users type list names and separate them by commas.
const ending = '-expanded'

/** Validates the flags before anything is opened. */
export function readOrder(flags: ExpandFlags): ExpandOrder {
  const { list, as, credits, depth } = flags
  if (list === undefined || list.trim() === '') {
    throw new Misuse(
      `expected --list with the name of a list, got none; ${npmRun('status')} shows them`,
    )
  }
  if (credits === undefined) {
    throw new Misuse(
      'expected --credits with the most that all rounds may cost together, got none; without --yes, nothing is bought',
    )
  }
  return {
    list,
    into: as === undefined ? `${list}${ending}` : typedName(as),
    credits: countFlag('credits', credits),
    depth: readDepth(depth),
    wanted: readFilter(flags),
  }
}

function readDepth(typed: string | undefined): number {
  const depth = wholeFlag('depth', typed, mostDepth) ?? 1
  if (depth > 0) return depth
  throw new Misuse(`expected --depth to be a whole number from 1 to ${mostDepth}, got ${typed}`)
}
