import { z } from 'zod'
import { faultShape } from './fault.ts'

const credits = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const span = z.strictObject({ least: z.number().min(0), most: z.number().min(0) })

const price = z.union([
  /** Like the service: one credit per ten results, rounded up. */
  z.literal('num'),
  z.number().min(0),
  span,
  z.strictObject({ byNum: z.record(z.string(), credits) }),
])

export type PriceRule = z.output<typeof price>

const changeable = {
  faults: z.array(faultShape),
  cost: price,
  /** Duration of an answer; with a range, answers arrive out of order. */
  delayMs: z.union([z.number().min(0), span]),
  /** When a request is charged: on arrival, when its answer is sent, or in between. */
  chargeAt: z.enum(['start', 'end', 'between']),
  /** How a request is rejected if the balance is insufficient. */
  spent: z.enum(['402', '403', '429', '200']),
  /** Further keys that are accepted. */
  keys: z.array(z.string()),
  /** The accepted key; if none is given, one is generated. */
  key: z.string().optional(),
}

/** All settings of the stand-in. */
export const knobShape = z.strictObject({
  faults: changeable.faults.default([]),
  cost: changeable.cost.default('num'),
  delayMs: changeable.delayMs.default(0),
  chargeAt: changeable.chargeAt.default('start'),
  spent: changeable.spent.default('402'),
  keys: changeable.keys.default([]),
  seed: z.string().default('faulty'),
  credits: credits.default(1000),
  kind: z.enum(['live', 'test']).default('live'),
  /** If true, the same Idempotency-Key gets the same answer and is charged once, and every answer announces it. */
  replays: z.boolean().default(false),
  key: changeable.key,
  port: z.int().min(0).max(65_535).default(0),
  adminPort: z.int().min(0).max(65_535).default(0),
  /** Every charge and every outcome is appended here, so that the records survive. */
  logFile: z.string().optional(),
  renewal: z.strictObject({ afterMs: z.number().min(0), credits }).optional(),
  otherSpender: z.strictObject({ everyMs: z.number().min(1), credits }).optional(),
})

/**
 * Settings that may change while the stand-in runs; settings that are not named stay unchanged. `spend`: another
 * program spends this many credits at once.
 */
export const changeShape = z.strictObject({ ...changeable, credits, spend: credits }).partial()

export type Knobs = z.output<typeof knobShape>
export type KnobsInput = z.input<typeof knobShape>
export type KnobChange = z.input<typeof changeShape>
