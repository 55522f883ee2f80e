import { z } from 'zod'
import { faultShape } from './fault.ts'

const credits = z.int().min(0).max(Number.MAX_SAFE_INTEGER)
const span = z.strictObject({ least: z.number().min(0), most: z.number().min(0) })

const price = z.union([
  /** As the service: one credit for each ten results begun. */
  z.literal('num'),
  z.number().min(0),
  span,
  z.strictObject({ byNum: z.record(z.string(), credits) }),
])

export type PriceRule = z.output<typeof price>

const changeable = {
  faults: z.array(faultShape),
  cost: price,
  /** How long an answer takes; a range makes answers come out of order. */
  delayMs: z.union([z.number().min(0), span]),
  /** When a request is charged: as it arrives, as its answer leaves, or somewhere between. */
  chargeAt: z.enum(['start', 'end', 'between']),
  /** How a request is refused that the balance cannot pay. */
  spent: z.enum(['402', '403', '429', '200']),
  /** More keys that are taken. */
  keys: z.array(z.string()),
  /** The key that is taken; one is made when none is given. */
  key: z.string().optional(),
}

/** Everything that can be set on the stand-in. */
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
  /** True: the same Idempotency-Key is given the same answer and charged once, and every answer says so. */
  replays: z.boolean().default(false),
  key: changeable.key,
  port: z.int().min(0).max(65_535).default(0),
  adminPort: z.int().min(0).max(65_535).default(0),
  /** Every charge and every end is appended here, so that the books survive. */
  logFile: z.string().optional(),
  renewal: z.strictObject({ afterMs: z.number().min(0), credits }).optional(),
  otherSpender: z.strictObject({ everyMs: z.number().min(1), credits }).optional(),
})

/** What may change while it runs; whatever is not named stays. `spend`: another program takes so many credits at once. */
export const changeShape = z.strictObject({ ...changeable, credits, spend: credits }).partial()

export type Knobs = z.output<typeof knobShape>
export type KnobsInput = z.input<typeof knobShape>
export type KnobChange = z.input<typeof changeShape>
