import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { unhandled } from '../../../src/base/errors.ts'
import type { Fault } from './fault.ts'

/** A request after its charge, with the answer that it would normally get. */
export interface Scene {
  readonly response: ServerResponse
  /** The body up to its credits. */
  readonly open: (q?: string) => string
  readonly used: number
  readonly remaining: number
  /** Base address of the stand-in. */
  readonly url: string
}

/** True for a fault whose request is charged. */
export function isCharged(fault: Fault | null): boolean {
  if (fault === null) return true
  if ('charged' in fault) return fault.charged
  return fault.kind !== 'redirect' && !(fault.kind === 'body' && fault.body === 'refusal')
}

/** True for a fault whose reply claims that a charged request cost nothing. */
export function isLie(fault: Fault | null): boolean {
  return fault?.kind === 'credits' && fault.field !== 'remaining' && fault.value === 'zero'
}

/** Answers like a healthy service. */
export function answerWell(scene: Scene): number {
  return send(scene, 200, goodBody(scene))
}

/** Performs the fault; returns the status that was sent, or null if none was. */
export async function misbehave(fault: Fault, scene: Scene): Promise<number | null> {
  const { response } = scene
  switch (fault.kind) {
    case 'drop':
      response.socket?.destroy()
      return null
    case 'reset':
      response.socket?.resetAndDestroy()
      return null
    case 'hang':
      return null
    case 'drip':
      return await drip(fault, scene)
    case 'cut':
      return cut(fault.how, scene)
    case 'oversize':
      return oversize(fault, scene)
    case 'body':
      return send(scene, 200, oddBody(fault.body, goodBody(scene)))
    case 'redirect':
      response.setHeader('location', fault.to ?? `${scene.url}/v1/elsewhere`)
      return send(scene, fault.status, '')
    case 'rate':
      return slowDown(fault, scene)
    case 'status':
      if (fault.retryAfter !== undefined) response.setHeader('retry-after', fault.retryAfter)
      return send(scene, fault.status, failureBody(fault, scene))
    case 'credits':
      return send(scene, 200, scene.open() + oddCredits(fault, scene.used, scene.remaining))
    case 'late':
      if (fault.what === 'charge') response.socket?.destroy()
      return fault.what === 'charge' ? null : answerWell(scene)
    case 'echo':
      return send(scene, 200, goodBody(scene, fault.query))
    case 'fields':
      return send(scene, 200, oddFields(fault.what, goodBody(scene)))
    case 'idle':
      response.on('finish', () => {
        setTimeout(() => response.socket?.destroy(), fault.afterMs)
      })
      return answerWell(scene)
    default:
      throw unhandled('fault', fault)
  }
}

type Kind<Name extends Fault['kind']> = Extract<Fault, { kind: Name }>

function goodBody({ open, used, remaining }: Scene, q?: string): string {
  return `${open(q)},"credits_used":${used},"credits_remaining":${remaining}}`
}

function send({ response }: Scene, status: number, body: string | Buffer): number {
  const type = typeof body === 'string' && body.startsWith('<') ? 'text/html' : 'application/json'
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
  return status
}

async function drip(fault: Kind<'drip'>, scene: Scene): Promise<number> {
  const body = Buffer.from(goodBody(scene))
  scene.response.writeHead(200, { 'content-length': body.length })
  for (let at = 0; at < body.length && !scene.response.destroyed; at += fault.bytes) {
    scene.response.write(body.subarray(at, at + fault.bytes))
    await wait(fault.everyMs)
  }
  scene.response.end()
  return 200
}

function cut(how: Kind<'cut'>['how'], scene: Scene): number {
  const { response } = scene
  const body = Buffer.from(goodBody(scene))
  if (how === 'gzip') {
    response.setHeader('content-encoding', 'gzip')
    const packed = gzipSync(body)
    return send(scene, 200, packed.subarray(0, packed.length / 2))
  }
  response.writeHead(200, how === 'length' ? { 'content-length': body.length } : {})
  // Closed only after the first half has been sent; otherwise the client would see no body at all.
  response.write(body.subarray(0, body.length / 2), () => response.socket?.destroy())
  return 200
}

const mebibyte = 1_048_576

function oversize(fault: Kind<'oversize'>, { response }: Scene): number {
  const rounds = Math.ceil(fault.bytes / mebibyte)
  const plain = Buffer.alloc(mebibyte, 'x')
  // A gzip stream may have many members, so the same compressed mebibyte is sent repeatedly.
  const piece = fault.gzip ? gzipSync(plain) : plain
  response.writeHead(200, fault.gzip ? { 'content-encoding': 'gzip' } : {})
  const body = Readable.from(
    (function* () {
      for (let round = 0; round < rounds; round += 1) yield piece
    })(),
  )
  // The client is expected to disconnect in the middle of this body.
  body.on('error', () => undefined)
  response.on('close', () => body.destroy())
  body.pipe(response)
  return 200
}

function slowDown(fault: Kind<'rate'>, scene: Scene): number {
  const forms: Record<Kind<'rate'>['retryAfter'], string | null> = {
    seconds: String(fault.seconds),
    date: new Date(Date.now() + fault.seconds * 1000).toUTCString(),
    past: new Date(Date.now() - 3_600_000).toUTCString(),
    garbage: 'soon',
    none: null,
    huge: String(10 * 365 * 86_400),
    negative: '-5',
    zero: '0',
  }
  const value = forms[fault.retryAfter]
  if (value !== null) scene.response.setHeader('retry-after', value)
  return send(scene, 429, errorBody('TOO_MANY_REQUESTS', 'Slow down'))
}

const usualCodes: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  500: 'INTERNAL_SERVER_ERROR',
  502: 'BAD_GATEWAY',
  503: 'SERVICE_UNAVAILABLE',
  504: 'GATEWAY_TIMEOUT',
}

function failureBody(fault: Kind<'status'>, { used, remaining }: Scene): string {
  if (fault.body === 'html') return '<h1>An error page of something in between</h1>'
  if (fault.body === 'empty') return ''
  const body = errorBody(fault.code ?? usualCodes[fault.status] ?? 'ERROR', 'A fault on purpose')
  if (!fault.billed) return body
  return `${body.slice(0, -1)},"credits_used":${used},"credits_remaining":${remaining}}`
}

/** The error format in the specification. */
export function errorBody(code: string, message: string): string {
  const documentation = 'https://docs.example.com/errors'
  return JSON.stringify({ success: false, error: { code, message, documentation } })
}

type OddKind<Name extends Fault['kind']> = Extract<Fault, { kind: Name }>

/** The end of a body, with unusual credit values. */
function oddCredits(fault: OddKind<'credits'>, used: number, remaining: number): string {
  const show = (name: string, value: number, odd: boolean) => {
    const text = odd ? oddNumber(fault.value, value) : String(value)
    return text === null ? '' : `,"${name}":${text}`
  }
  const usedPart = show('credits_used', used, fault.field !== 'remaining')
  return `${usedPart}${show('credits_remaining', remaining, fault.field !== 'used')}}`
}

function oddNumber(form: OddKind<'credits'>['value'], value: number): string | null {
  switch (form) {
    case 'missing':
      return null
    case 'null':
      return 'null'
    case 'string':
      return `"${value}"`
    case 'float':
      return `${value}.5`
    case 'nan':
      return '"NaN"'
    case 'negative':
      return '-1'
    case 'huge':
      // One more than JavaScript can represent exactly; written as text, because the number would be rounded.
      return '9007199254740993'
    case 'text':
      return '"lots"'
    case 'zero':
      return '0'
    default:
      throw unhandled('form', form)
  }
}

const bodies: Readonly<
  Record<Exclude<OddKind<'body'>['body'], 'half' | 'bytes' | 'deep'>, string>
> = {
  html: '<!doctype html><title>Sorry</title><h1>We will be back soon</h1>',
  empty: '',
  null: 'null',
  array: '[1, 2, 3]',
  string: '"x"',
  refusal:
    '{"success":false,"error":{"code":"QUOTA_EXCEEDED","message":"No credits left","documentation":"https://docs.example.com/errors"}}',
}

/** A body that is not an answer. */
function oddBody(form: OddKind<'body'>['body'], good: string): string | Buffer {
  if (form === 'half') return good.slice(0, good.length / 2)
  if (form === 'deep') {
    const depth = 200
    return `${good.slice(0, -1)},"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`
  }
  if (form !== 'bytes') return bodies[form]
  const at = good.indexOf('"title":"') + '"title":"'.length
  const broken = Buffer.from([0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80])
  return Buffer.concat([Buffer.from(good.slice(0, at)), broken, Buffer.from(good.slice(at))])
}

interface Loose {
  [field: string]: unknown
  organic_results: Record<string, unknown>[]
}

/** A valid body with undocumented fields, or without some of the usual ones. */
function oddFields(what: OddKind<'fields'>['what'], good: string): string {
  const body = JSON.parse(good) as Loose
  bend[what](body)
  // JSON.stringify writes NUL and lone surrogates as escapes, as a careless server does.
  return JSON.stringify(body)
}

const bend: Readonly<Record<OddKind<'fields'>['what'], (body: Loose) => void>> = {
  types(body) {
    const odd: Record<string, unknown>[] = [
      { position: '3' },
      { position: 1.5 },
      { position: null },
      { title: 7 },
      { url: null, domain: 12 },
      { snippet: ['a', 'b'] },
    ]
    body.organic_results.forEach((result, index) => Object.assign(result, odd[index % odd.length]))
    Object.assign(body, { intent: 5, sentiment: null, clusters: [1, null, 'fine', {}] })
    body['entities'] = [{ name: 'No type' }, { type: 'Nameless' }, 'just text', null]
  },
  missing(body) {
    for (const name of ['intent', 'sentiment', 'clusters', 'entities', 'related_searches']) {
      delete body[name]
    }
    body.organic_results.forEach((result, index) => {
      delete result[['position', 'title', 'snippet', 'domain'][index % 4] ?? '']
    })
  },
  extra(body) {
    body['ads'] = [{ title: 'Buy', url: 'https://ads.example/1', block: 'top' }]
    body['knowledge_graph'] = { title: 'A thing', facts: { born: 1815 } }
    body['featured_snippet'] = { text: 'An answer', url: 'https://www.example.com/' }
    for (const result of body.organic_results) result['sitelinks'] = [{ title: 'More' }]
  },
  characters(body) {
    const odd = [
      'a\u0000b',
      'lone \ud800 surrogate',
      'low \udc00',
      '\u202eright to left',
      '\u{1f3f4}',
    ]
    body.organic_results.forEach((result, index) => {
      result['title'] = odd[index % odd.length]
      result['snippet'] = `tab\tand\nline ${odd[(index + 1) % odd.length]}`
    })
    body['intent'] = 'in\u0000formational'
    body['related_searches'] = odd
  },
  positions(body) {
    const odd = [1, 1, 0, -4, 3_000_000_000, 2]
    body.organic_results.forEach((result, index) => {
      result['position'] = odd[index % odd.length]
    })
  },
  urls(body) {
    const odd = [
      `https://long.example/${'a'.repeat(10_000)}`,
      'https://same.example/page',
      'https://same.example/page',
      'javascript:alert(1)',
      'not an address',
      'https://xn--mnchen-3ya.example/stra%C3%9Fe?utm_source=x#part',
    ]
    body.organic_results.forEach((result, index) => {
      result['url'] = odd[index % odd.length]
    })
  },
  shapes(body) {
    const results: unknown = { first: body.organic_results[0] }
    Object.assign(body, { organic_results: results, clusters: null, related_searches: 'one' })
    body['entities'] = { name: 'Not a list', type: 'Thing' }
  },
  empty(body) {
    Object.assign(body, { organic_results: [], clusters: [], entities: [], related_searches: [] })
  },
}
