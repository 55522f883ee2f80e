// const buckets = await startBuckets() → an S3 server of this machine with one empty bucket, `buckets.address`; `env` is what
// a command needs to reach it. `buckets.meet = ({ method, name }) => 'refuse'` makes trouble before the server sees a request.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import S3rver, { type S3Context, type S3Step } from '@20minutes/s3rver'
import type { Environment } from '../../src/base/config.ts'
import { temporaryFolder } from './place.ts'

/** What becomes of a request: answered with 403 or 503, or its line cut, on the way there or on the way back. */
export type Trouble = 'refuse' | 'busy' | 'cut'

export interface MetRequest {
  readonly method: string
  /** What is asked for, below the bucket. */
  readonly name: string
}

export interface BucketServer {
  readonly address: string
  readonly env: Environment
  /** Sees each request first. */
  meet: (request: MetRequest) => Promise<Trouble | undefined> | Trouble | undefined
  /** The names of all objects. */
  readonly names: () => readonly string[]
  /** Where the server keeps what an object holds. */
  readonly fileOf: (name: string) => string
  readonly add: (name: string, text?: string) => void
  readonly change: (name: string) => void
  readonly remove: (name: string) => void
  readonly close: () => Promise<void>
}

const bucket = 'kept'
const suffix = '._S3rver_object'
const codes = { refuse: [403, 'AccessDenied'], busy: [503, 'SlowDown'] } as const

export async function startBuckets(): Promise<BucketServer> {
  const directory = temporaryFolder('buckets')
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket, configs: [] }],
  })
  server.middleware.unshift((context, next) => meeting(buckets, context, next))
  server.middleware.splice(-1, 0, slashed)
  const { port } = await server.run()
  const fileOf = (name: string) => join(directory, bucket, `${name}${suffix}`)
  const buckets: BucketServer = {
    address: `s3://${bucket}`,
    env: {
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
    },
    meet: () => undefined,
    names: () =>
      readdirSync(join(directory, bucket), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith(suffix))
        .map((name) => name.slice(0, -suffix.length))
        .toSorted(),
    fileOf,
    add: (name, text = 'text') => {
      mkdirSync(dirname(fileOf(name)), { recursive: true })
      writeFileSync(fileOf(name), text)
      // What the server keeps of an object beside it.
      const metadata = fileOf(name).replace(/_object$/, '_metadata.json')
      writeFileSync(metadata, '{"content-type": "binary/octet-stream"}')
    },
    change: (name) => {
      const bytes = readFileSync(fileOf(name))
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      writeFileSync(fileOf(name), bytes)
    },
    remove: (name) => rmSync(fileOf(name)),
    close: async () => {
      await server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return buckets
}

/** The server takes the slash at the end of a bucket's own path for no part of it; signatures are over it. */
const slashed: S3Step = async (context, next) => {
  if (context.path === `/${bucket}/`) Object.assign(context, { mountPath: '/' }).state.vhost = true
  await next()
}

async function meeting(buckets: BucketServer, context: S3Context, next: () => Promise<void>) {
  const name = decodeURIComponent(context.path.slice(`/${bucket}/`.length))
  const trouble = await buckets.meet({ method: context.method, name })
  if (trouble === undefined) return next()
  if (trouble === 'cut') return cut(context, next)
  const [status, code] = codes[trouble]
  Object.assign(context, { status, type: 'application/xml' })
  context.body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>no</Message></Error>`
}

/** Half of it passes. */
async function cut(context: S3Context, next: () => Promise<void>): Promise<void> {
  const { req, res } = context
  context.respond = false
  if (context.method === 'PUT') {
    req.once('data', () => req.socket.destroy())
    return
  }
  context.respond = true
  await next()
  const whole = Buffer.from(await readAll(context.body as AsyncIterable<Buffer>))
  context.respond = false
  res.writeHead(200, { 'content-length': whole.length })
  res.write(whole.subarray(0, whole.length >> 1), () => req.socket.destroy())
}

async function readAll(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}
