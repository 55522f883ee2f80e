import { z } from 'zod'

// Every field is read on its own: one that is missing, null or of another type leaves its siblings alone.
// Spec gap 2.5: which fields are always present is not shown.
const text = z.string().optional().catch(undefined)
const filled = z.string().min(1).optional().catch(undefined)

// No call costs a million credits: such a field is broken, and believing it would bind every later call to it.
const mostCredits = 1_000_000
const digits = z
  .string()
  .regex(/^(0|-?[1-9]\d{0,15})$/)
  .transform(Number)
const whole = z.union([z.int(), digits.pipe(z.int())])

const cost = whole.pipe(z.int().min(0).max(mostCredits)).optional().catch(undefined)
// Whoever answers a paid search cannot owe credits: such a balance is broken, and believing it would stop a mill that has some.
const balance = whole.pipe(z.int().min(0)).optional().catch(undefined)

/** Fields of an answer that stand in columns of their own. */
export const answerShape = z.object({
  intent: text,
  sentiment: text,
  credits_used: cost,
  credits_remaining: balance,
})

/** Fields of an organic result. */
export const resultShape = z.object({
  position: whole.optional().catch(undefined),
  title: text,
  url: filled,
  snippet: text,
  domain: filled,
})

/** What can be read of an entity. U+001F parts name and type in its id, so a name cannot hold it. */
export const entityShape = z.object({
  // eslint-disable-next-line no-control-regex -- the separator is what is looked for
  name: z.string().regex(/^[^\u001f]*$/),
  type: text,
})

/** What a body says of itself: whether it succeeded, which query it answers, why it refuses. */
export const statementShape = z.object({
  success: z.boolean().optional().catch(undefined),
  query: text,
  error: z.object({ code: text, message: text }).optional().catch(undefined),
})
