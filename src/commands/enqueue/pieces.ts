import { Misuse } from '../../shared/errors.ts'
import type { ListPiece } from '../../lists/read.ts'
import type { Stage } from '../../store/planning/stage.ts'
import { awaitedLater } from '../../shared/waiting.ts'
import { countPiece, emptyTally, type ListTally } from './tally.ts'

/** Writes what is read of a list into its stage, and counts it. */
export async function stagePieces(
  stage: Stage,
  pieces: AsyncIterable<ListPiece>,
  progress: (lines: number) => void,
): Promise<ListTally> {
  const tally = emptyTally()
  let writing: Promise<void> = Promise.resolve()
  for await (const piece of pieces) {
    await stage.add(piece.queries)
    await writing
    // Postgres takes this piece while the next one is read.
    writing = awaitedLater(stage.reject(piece.rejected))
    countPiece(tally, piece)
    progress(piece.line)
  }
  await writing
  await stage.end()
  return tally
}

/** Why a list without a usable line is refused. */
export function noUsableLine(shown: string, { rejected, reasons }: ListTally): Misuse {
  const more = rejected > reasons.length ? '; …' : ''
  const got =
    rejected === 0 ? 'a header only' : `${rejected} rejected (${reasons.join('; ')}${more})`
  return new Misuse(
    `expected at least one usable line in ${shown}, got ${got}; nothing was queued, correct the list`,
  )
}
