import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { Fault } from './fault.ts'
import { oddBody, oddCredits, oddFields } from './odd.ts'
import { unhandled } from '../../shared/errors.ts'

/** A request whose money is settled, and what would be answered if all went well. */
export interface Scene {
  readonly response: ServerResponse
  /** The body up to its credits. */
  readonly open: (q?: string) => string
  readonly used: number
  readonly remaining: number
  /** Base address of the stand-in. */
  readonly url: string
}

/** True for a fault whose request is paid for. */
export function isCharged(fault: Fault | null): boolean {
  if (fault === null) return true
  if ('charged' in fault) return fault.charged
  return fault.kind !== 'redirect' && !(fault.kind === 'body' && fault.body === 'refusal')
}

/** Answers as a healthy service does. */
export function answerWell(scene: Scene): number {
  return send(scene, 200, goodBody(scene))
}

/** Does what the fault says; the status that was sent, or null when none was. */
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
  // Closed only once the half is on its way, or the client would see no body at all.
  response.write(body.subarray(0, body.length / 2), () => response.socket?.destroy())
  return 200
}

const mebibyte = 1_048_576

function oversize(fault: Kind<'oversize'>, { response }: Scene): number {
  const rounds = Math.ceil(fault.bytes / mebibyte)
  const plain = Buffer.alloc(mebibyte, 'x')
  // A gzip stream may have many members: the same thousandth is sent over and over.
  const piece = fault.gzip ? gzipSync(plain) : plain
  response.writeHead(200, fault.gzip ? { 'content-encoding': 'gzip' } : {})
  const body = Readable.from(
    (function* () {
      for (let round = 0; round < rounds; round += 1) yield piece
    })(),
  )
  // The client is meant to hang up in the middle of this body.
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

/** The error shape of the specification. */
export function errorBody(code: string, message: string): string {
  const documentation = 'https://docs.example.com/errors'
  return JSON.stringify({ success: false, error: { code, message, documentation } })
}
