/** A fault put into the program on purpose, and the tests nearest to it: one of them has to find it. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Text that occurs once in the file. */
  readonly find: string
  readonly put: string
  readonly tests: readonly string[]
  /** Why it may live: no test could tell it from the program, or what it would take is out of proportion. */
  readonly survives?: string
}

/** Faults of one file that the same tests are nearest to. */
export function inFile(
  file: string,
  tests: readonly string[],
  faults: readonly (Pick<Mutant, 'name' | 'find' | 'put' | 'survives'> & {
    readonly tests?: readonly string[]
  })[],
): readonly Mutant[] {
  return faults.map((fault) => ({ ...fault, file, tests: fault.tests ?? tests }))
}
