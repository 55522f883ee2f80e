// Parses the values of flags.

import { npmRun } from './commands.ts'
import { Misuse } from '../errors.ts'
import { readDuration } from '../time/zone.ts'

export function runNumber(text: string): number {
  const run = Number(text)
  if (Number.isSafeInteger(run) && run > 0) return run
  throw new Misuse(
    `expected --run to be a run number, got ${JSON.stringify(text)}; ${npmRun('status')} lists the runs`,
  )
}

/** Reads a whole number, or returns undefined if the flag is missing. */
export function wholeFlag(
  name: string,
  text: string | undefined,
  most: number,
): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (/^\d+$/.test(text) && value <= most) return value
  throw new Misuse(`expected --${name} to be a whole number up to ${most}, got ${text}`)
}

export function countFlag(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Misuse(`expected --${name} to be a whole number of at least 1, got ${text}`)
}

export function wordFlag<Word extends string>(
  name: string,
  text: string,
  words: readonly Word[],
): Word {
  const found = words.find((word) => word === text)
  if (found !== undefined) return found
  throw new Misuse(`expected --${name} to be one of ${words.join(', ')}, got ${text}`)
}

export function timeoutFlag(
  text: string,
  { like, mostMs = Infinity }: { like: string; mostMs?: number },
): number {
  const value = readDuration(text)
  if (value !== null && value > 0 && value <= mostMs) return value
  throw new Misuse(`expected --timeout to be a duration like ${like}, got ${text}`)
}

/** CSV delimiters by the names that `--delimiter` accepts. */
export const delimiterNames: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  pipe: '|',
}

export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
