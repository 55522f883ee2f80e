import { numberText, shortNumber } from '../../../drawing/numbers.ts'

/** A number beside a picture, where there is little room. */
export function tickText(value: number): string {
  return Math.abs(value) < 10_000 ? numberText(value) : shortNumber(value)
}
