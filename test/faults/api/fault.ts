import { z } from 'zod'
import { fraction } from '../../../src/base/random.ts'

const milliseconds = z.number().min(0).max(3_600_000)
const bytes = z.number().int().min(1).max(1_000_000_000)

// When a fault occurs: by chance, or exactly where a test requests it. All given conditions must hold.
const when = {
  /** Share of the requests, selected by seed, query and try, so that the order of arrival does not matter. */
  chance: z.number().min(0).max(1).optional(),
  /** Request sequence numbers, from 1. */
  only: z.array(z.int().min(1)).optional(),
  /** First and last sequence number. */
  from: z.int().min(1).optional(),
  until: z.int().min(1).optional(),
  /** Part of the query's text. */
  match: z.string().optional(),
  /** The first tries of each query, up to this number. */
  times: z.int().min(1).optional(),
}

function kind<Kind extends string, Shape extends z.ZodRawShape>(name: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(name), ...shape, ...when })
}

/** Everything that can go wrong, one type per kind. Set only by tests and by a stand-in's operator. */
export const faultShape = z.discriminatedUnion('kind', [
  /** Charges, then closes the connection without a response. */
  kind('drop', {}),
  /** Resets the connection, after or before the charge. */
  kind('reset', { charged: z.boolean().default(true) }),
  /** Accepts the request and never answers. */
  kind('hang', { charged: z.boolean().default(true) }),
  /** The body arrives in small pieces. */
  kind('drip', { everyMs: milliseconds.default(100), bytes: bytes.default(1) }),
  /** The answer is cut off: before its Content-Length, between chunks, or in the middle of gzip. */
  kind('cut', { how: z.enum(['length', 'chunk', 'gzip']).default('length') }),
  /** An endless body, or a small one that is huge after decompression. */
  kind('oversize', { bytes: bytes.default(64_000_000), gzip: z.boolean().default(false) }),
  /** Status 200 with something other than an answer. */
  kind('body', {
    body: z.enum(['html', 'empty', 'null', 'array', 'string', 'half', 'deep', 'refusal', 'bytes']),
  }),
  /** Redirects the client. */
  kind('redirect', {
    status: z.union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)]).default(302),
    to: z.string().optional(),
  }),
  /** Too many requests, with every form of Retry-After. */
  kind('rate', {
    retryAfter: z
      .enum(['seconds', 'date', 'past', 'garbage', 'none', 'huge', 'negative', 'zero'])
      .default('seconds'),
    seconds: z.number().min(0).default(1),
    charged: z.boolean().default(false),
  }),
  /** A rejection with any status, charged or not. */
  kind('status', {
    status: z.int().min(200).max(599),
    charged: z.boolean().default(false),
    /** If true, a JSON error reports the credits used and remaining. */
    billed: z.boolean().default(false),
    code: z.string().optional(),
    retryAfter: z.string().optional(),
    body: z.enum(['error', 'html', 'empty']).default('error'),
  }),
  /** Unusual credit values. */
  kind('credits', {
    field: z.enum(['used', 'remaining', 'both']).default('both'),
    value: z.enum([
      'missing',
      'null',
      'string',
      'float',
      'nan',
      'negative',
      'huge',
      'text',
      'zero',
    ]),
  }),
  /** The answer is late, or the charge comes after the connection is closed. */
  kind('late', {
    afterMs: milliseconds.default(1000),
    what: z.enum(['answer', 'charge']).default('answer'),
  }),
  /** Answers a different query. */
  kind('echo', { query: z.string().default('something else entirely') }),
  /** Fields that the specification does not define, with unexpected types. */
  kind('fields', {
    what: z
      .enum(['types', 'missing', 'extra', 'characters', 'positions', 'urls', 'shapes', 'empty'])
      .default('types'),
  }),
  /** Answers correctly, then closes the connection that the client would reuse. */
  kind('idle', { afterMs: milliseconds.default(5) }),
])

export type Fault = z.output<typeof faultShape>

/** The properties of a request that select a fault. */
interface Try {
  /** Sequence number. */
  readonly n: number
  /** The parameters, always in the same order. */
  readonly identity: string
  readonly q: string
  /** Number of times that the same request has arrived, including this time. */
  readonly attempt: number
}

/** The first fault in the list that applies to a request. */
export function chooseFault(faults: readonly Fault[], seed: string, one: Try): Fault | null {
  return faults.find((fault, index) => strikes(fault, `${seed} ${index}`, one)) ?? null
}

function strikes(fault: Fault, seed: string, { n, identity, q, attempt }: Try): boolean {
  if (fault.only !== undefined && !fault.only.includes(n)) return false
  if (fault.from !== undefined && n < fault.from) return false
  if (fault.until !== undefined && n > fault.until) return false
  if (fault.match !== undefined && !q.includes(fault.match)) return false
  if (fault.times !== undefined && attempt > fault.times) return false
  return fault.chance === undefined || fraction(`${seed} ${identity} ${attempt}`) < fault.chance
}
