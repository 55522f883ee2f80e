/** A promise of the ledger that a schedule broke. */
class Broken extends Error {}

export function promise(kept: boolean, words: () => string): void {
  if (!kept) throw new Broken(words())
}
