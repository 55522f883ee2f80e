import { createHash } from 'node:crypto'

/** Share of the sleeping that is asked every night: what is missed is measured, not believed. */
export const chanceShare = 0.05

/** From 0 to 1, the same for the same words whoever asks, wherever and however often. */
export function drawn(...words: readonly string[]): number {
  const bytes = createHash('sha256').update(JSON.stringify(words)).digest()
  return bytes.readUInt32BE(0) / 2 ** 32
}
