/** A fault injected into the program, and the tests closest to it, one of which must find it. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Text that occurs once in the file. */
  readonly find: string
  readonly put: string
  readonly tests: readonly string[]
  /**
   * Reason why it may remain unfound: no test could distinguish it from the program, or the effort would be out of
   * proportion.
   */
  readonly survives?: string
}

/** Faults of one file with the same closest tests. */
export function inFile(
  file: string,
  tests: readonly string[],
  faults: readonly (Pick<Mutant, 'name' | 'find' | 'put' | 'survives'> & {
    readonly tests?: readonly string[]
  })[],
): readonly Mutant[] {
  return faults.map((fault) => ({ ...fault, file, tests: fault.tests ?? tests }))
}
