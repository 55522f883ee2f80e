/** Error for a guarantee of the ledger that a schedule violated. */
class Broken extends Error {}

export function promise(kept: boolean, words: () => string): void {
  if (!kept) throw new Broken(words())
}
