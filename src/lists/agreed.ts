import { z } from 'zod'
import { Misuse } from '../shared/errors.ts'
import type { Dialect } from './columns.ts'
import type { ReadOptions } from './reader.ts'

const roles = [
  'location',
  'hl',
  'gl',
  'num',
  'device',
  'priority',
  'weight',
  'tags',
  'target',
  'cpc',
  'difficulty',
  'every',
  'max_age',
] as const

const shape = z
  .object({
    encoding: z.string(),
    delimiter: z.string(),
    column: z.string(),
    header: z.literal(false),
    skip: z.number(),
    sheet: z.string(),
    decimal: z.enum(['.', ',']),
    formulas: z.enum(['keep', 'refuse']),
    weightColumn: z.string(),
    matchTypes: z.enum(['keep', 'strip']),
    map: z.array(z.object({ column: z.string(), role: z.enum(roles).nullable() })),
    /** Cells of a row when it was agreed to. */
    width: z.number(),
  })
  .partial()

/** How a person said that a list is read. */
export type Agreed = {
  readonly [K in keyof Omit<ReadOptions, 'defaults'>]?: ReadOptions[K] | undefined
}

/** What is worth keeping of what a person typed; null when the list was read without a word. */
export function agreedOf(typed: Agreed, { columns }: Dialect): Agreed | null {
  const { encoding, delimiter, column, header, skip, sheet } = typed
  const { decimal, formulas, weightColumn, map = [] } = typed
  const said = {
    ...{ encoding, delimiter, column, skip, sheet, decimal, formulas, weightColumn },
    header: header === false ? (false as const) : undefined,
    matchTypes: typed.matchTypes === 'strip' ? ('strip' as const) : undefined,
    map: map.length === 0 ? undefined : map,
  }
  const kept = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
  return Object.keys(kept).length === 0 ? null : { ...kept, width: columns.width }
}

/** What was agreed to, as the tables keep it; nothing when they hold none. */
export function readAgreed(kept: unknown): Agreed {
  const found = shape.safeParse(kept)
  return found.success ? found.data : {}
}

/** Columns by their number, and rows without names, are the same only while the rows are as wide as they were. */
export function refuseOtherShape(
  shown: string,
  { width }: { readonly width?: number | undefined },
  { columns }: Dialect,
): void {
  if (width === undefined || width === columns.width) return
  throw new Misuse(
    `expected ${shown} to have ${width} columns as when it was last agreed how to read it, got ${columns.width}; enqueue it by hand once to say how it is read now`,
  )
}
