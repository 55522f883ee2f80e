import { z } from 'zod'
import { fraction } from '../../../src/service/random.ts'

const milliseconds = z.number().min(0).max(3_600_000)
const bytes = z.number().int().min(1).max(1_000_000_000)

// When a fault strikes: by chance, or exactly where a test wants it. All that is given must hold.
const when = {
  /** Share of the requests, decided by seed, query and try: the order of arrival changes nothing. */
  chance: z.number().min(0).max(1).optional(),
  /** Numbers of requests in order of arrival, from 1. */
  only: z.array(z.int().min(1)).optional(),
  /** First and last number of a request. */
  from: z.int().min(1).optional(),
  until: z.int().min(1).optional(),
  /** A part of the query's text. */
  match: z.string().optional(),
  /** The first so many tries of each query. */
  times: z.int().min(1).optional(),
}

function kind<Kind extends string, Shape extends z.ZodRawShape>(name: Kind, shape: Shape) {
  return z.strictObject({ kind: z.literal(name), ...shape, ...when })
}

/** Everything that can be made to go wrong, one shape a kind. Only tests and the operator of a stand-in set it. */
export const faultShape = z.discriminatedUnion('kind', [
  /** Charges, then closes the connection without a word. */
  kind('drop', {}),
  /** Resets the connection: after the charge, or before it. */
  kind('reset', { charged: z.boolean().default(true) }),
  /** Takes the request and never answers. */
  kind('hang', { charged: z.boolean().default(true) }),
  /** The body comes in small pieces. */
  kind('drip', { everyMs: milliseconds.default(100), bytes: bytes.default(1) }),
  /** The answer breaks off: before its Content-Length, between chunks, or in the middle of gzip. */
  kind('cut', { how: z.enum(['length', 'chunk', 'gzip']).default('length') }),
  /** A body without end, or small on the wire and huge unpacked. */
  kind('oversize', { bytes: bytes.default(64_000_000), gzip: z.boolean().default(false) }),
  /** Status 200 with something else in it. */
  kind('body', {
    body: z.enum(['html', 'empty', 'null', 'array', 'string', 'half', 'deep', 'refusal', 'bytes']),
  }),
  /** Sends the client elsewhere. */
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
  /** A refusal with any status, charged or not. */
  kind('status', {
    status: z.int().min(200).max(599),
    charged: z.boolean().default(false),
    /** True: an error in JSON tells the credits that were used and are left. */
    billed: z.boolean().default(false),
    code: z.string().optional(),
    retryAfter: z.string().optional(),
    body: z.enum(['error', 'html', 'empty']).default('error'),
  }),
  /** Odd numbers where the credits are told. */
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
  /** The answer comes late, or the charge does, after the connection is gone. */
  kind('late', {
    afterMs: milliseconds.default(1000),
    what: z.enum(['answer', 'charge']).default('answer'),
  }),
  /** Answers another query. */
  kind('echo', { query: z.string().default('something else entirely') }),
  /** Fields that the specification does not promise, of types that it does not promise. */
  kind('fields', {
    what: z
      .enum(['types', 'missing', 'extra', 'characters', 'positions', 'urls', 'shapes', 'empty'])
      .default('types'),
  }),
  /** Answers well, then closes the connection that the client would like to use again. */
  kind('idle', { afterMs: milliseconds.default(5) }),
])

export type Fault = z.output<typeof faultShape>

/** A request as the choice of a fault sees it. */
interface Try {
  /** Number in order of arrival. */
  readonly n: number
  /** The parameters, always in the same order. */
  readonly identity: string
  readonly q: string
  /** How often this very request has come, with this time. */
  readonly attempt: number
}

/** The first fault of the list that strikes a request. */
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
