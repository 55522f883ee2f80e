import { gateMutants } from './gate.ts'
import { ledgerMutants } from './ledger.ts'
import type { Mutant } from './mutant.ts'
import { proofMutants } from './proofs.ts'
import { workMutants } from './work.ts'

/** Every fault that a test must find. */
export const allMutants: readonly Mutant[] = [
  ...gateMutants,
  ...ledgerMutants,
  ...workMutants,
  ...proofMutants,
]
