import { Misuse } from '../errors.ts'

/** What `--run` says. */
export function runNumber(text: string): number {
  const run = Number(text)
  if (Number.isSafeInteger(run) && run > 0) return run
  throw new Misuse(
    `expected --run to be the number of a run, got ${JSON.stringify(text)}; npm run status shows them`,
  )
}
