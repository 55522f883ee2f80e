// Archive in a bucket.

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type * as S3 from '@aws-sdk/client-s3'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { BadSettings, codeOf, MillError, Misuse, reasonOf, Unreachable } from '../../base/errors.ts'
import type { BucketAccess } from '../../base/settings.ts'
import type { ArchivePlace, BucketAddress, FetchedFile } from './place.ts'
import { isOfDisk, makeScratch, unwritable } from './scratch.ts'

/**
 * Archive in a bucket. Objects are written atomically, and large files are processed one at a time. The class is not
 * named `Bucket`, because TypeScript 7.0 miscompiles a request field `Bucket` inside such a class.
 */
export class BucketPlace implements ArchivePlace {
  readonly address: string
  readonly #to: BucketAddress
  readonly #access: BucketAccess
  #client: Promise<BucketClient> | undefined

  constructor(to: BucketAddress, access: BucketAccess) {
    this.#to = to
    this.#access = access
    this.address = `s3://${to.bucket}/${to.prefix}`.replace(/\/$/, '')
  }

  where(name: string): string {
    return `${this.address}/${name}`
  }

  async readText(name: string): Promise<string | null> {
    return this.#getting(name, async (found) => {
      return found === null ? null : ((await found.Body?.transformToString('utf8')) ?? '')
    })
  }

  async list(folder: string): Promise<readonly string[]> {
    const prefix = `${this.#to.prefix}${folder}/`
    const names: string[] = []
    // Continues a listing after the last name of the previous page, because all vendors support this method.
    for (let last: string | undefined; ;) {
      const after = last === undefined ? {} : { Marker: last }
      const page = await this.#asking(`list ${this.where(folder)}`, ({ sdk, client }) =>
        client.send(
          new sdk.ListObjectsCommand({ Bucket: this.#to.bucket, Prefix: prefix, ...after }),
        ),
      )
      const keys = (page.Contents ?? []).map(({ Key: key = '' }) => key)
      names.push(...keys.map((key) => key.slice(prefix.length)))
      last = keys.at(-1)
      if (page.IsTruncated !== true || last === undefined) break
    }
    return names
  }

  /** Downloads an object to a temporary folder, which is deleted with it. */
  async fetch(name: string): Promise<FetchedFile> {
    const folder = await makeScratch()
    const done = () => rm(folder, { recursive: true, force: true })
    const path = join(folder, 'fetched.parquet')
    try {
      await this.#getting(name, (found) =>
        pipeline(this.#bodyOf(found, name), createWriteStream(path)),
      )
      return { path, done }
    } catch (error) {
      await done()
      throw isOfDisk(error) ? unwritable(path, error, 'set TMPDIR to another folder') : error
    }
  }

  /** SHA-256 of an object as downloaded. */
  async hash(name: string): Promise<string> {
    const hash = createHash('sha256')
    await this.#getting(name, async (found) => {
      for await (const piece of this.#bodyOf(found, name)) hash.update(piece as Buffer)
    })
    return hash.digest('hex')
  }

  /** Uploads a file; replaces an object of the same name. */
  async put(name: string, path: string): Promise<void> {
    // Not as a stream, because the client can only resend data that it still has.
    const body = await readFile(path)
    const to = { Bucket: this.#to.bucket, Key: `${this.#to.prefix}${name}` }
    await this.#asking(`write ${this.where(name)}`, ({ sdk, client }) =>
      client.send(new sdk.PutObjectCommand({ ...to, Body: body })),
    )
  }

  async remove(name: string): Promise<void> {
    const at = { Bucket: this.#to.bucket, Key: `${this.#to.prefix}${name}` }
    await this.#asking(`remove ${this.where(name)}`, ({ sdk, client }) =>
      client.send(new sdk.DeleteObjectCommand(at)),
    )
  }

  #bodyOf(found: GetObjectCommandOutput | null, name: string): Readable {
    // On Node, the body is a Readable.
    if (found?.Body !== undefined) return found.Body as Readable
    throw new Misuse(
      `expected the file ${this.where(name)} of the archive, got nothing there; restore it, nothing was changed`,
    )
  }

  /**
   * Reads an object; null if it does not exist. A connection that breaks while reading is reported like a refused
   * request.
   */
  async #getting<T>(
    name: string,
    read: (found: GetObjectCommandOutput | null) => Promise<T>,
  ): Promise<T> {
    const at = { Bucket: this.#to.bucket, Key: `${this.#to.prefix}${name}` }
    return this.#asking(`read ${this.where(name)}`, async ({ sdk, client }) => {
      const found = await client.send(new sdk.GetObjectCommand(at)).catch((cause: unknown) => {
        if (isAbsent(cause)) return null
        throw cause
      })
      return read(found)
    })
  }

  async #asking<T>(what: string, ask: (client: BucketClient) => Promise<T>): Promise<T> {
    this.#client ??= openClient(this.#access)
    const client = await this.#client
    try {
      return await ask(client)
    } catch (cause) {
      throw refusal(what, cause)
    }
  }
}

/** Client of a bucket, with the commands of its SDK. */
interface BucketClient {
  readonly sdk: typeof S3
  readonly client: S3.S3Client
}

/** Nothing may hang: a connection silent for this long is considered broken. */
const silenceMs = 60_000
const connectMs = 10_000

/** Opens the client; unset options are resolved as in other AWS tools. */
async function openClient(access: BucketAccess): Promise<BucketClient> {
  const { region } = access
  const endpoint = readEndpoint(access)
  const credentials = readKey(access)
  const sdk = await loadSdk()
  const client = new sdk.S3Client({
    // Most other vendors have no regions, and their endpoint determines the location.
    ...(region === null ? (endpoint === null ? {} : { region: 'us-east-1' }) : { region }),
    // Their bucket names need not be valid host names.
    ...(endpoint === null ? {} : { endpoint: endpoint.href, forcePathStyle: true }),
    ...(credentials === null ? {} : { credentials }),
    // Not all vendors support the newer checksums; uploads are read back and hashed instead.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, socketTimeout: silenceMs },
  })
  return { sdk, client }
}

/** Loads the SDK, which is an optional peer dependency. */
async function loadSdk(): Promise<typeof S3> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Misuse(
      'expected the client for buckets to be installed, got none; run: npm install @aws-sdk/client-s3',
      { cause },
    )
  }
}

function readEndpoint({ endpoint }: BucketAccess): URL | null {
  if (endpoint === null) return null
  const url = URL.canParse(endpoint.text) ? new URL(endpoint.text) : null
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return url
  throw new BadSettings([
    `${endpoint.name}: expected an address like https://s3.example.com, got ${JSON.stringify(endpoint.text)}; leave it unset for AWS`,
  ])
}

function readKey({ keyId, secret, session }: BucketAccess) {
  if (keyId === null && secret === null) return null
  if (keyId === null || secret === null) {
    const missing = keyId === null ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY'
    throw new BadSettings([
      `${missing}: expected a value, since the other half of the key is set, got nothing; set both or none`,
    ])
  }
  return {
    accessKeyId: keyId,
    secretAccessKey: secret.reveal(),
    ...(session === null ? {} : { sessionToken: session.reveal() }),
  }
}

interface Answered {
  readonly name: string
  readonly message: string
  readonly status: number | undefined
}

/** True if the bucket exists but has no such object. */
function isAbsent(cause: unknown): boolean {
  return answered(cause)?.name === 'NoSuchKey'
}

/** Converts an error of the bucket client to one that says what to do. */
function refusal(what: string, cause: unknown): unknown {
  const got = answered(cause)
  if (cause instanceof MillError || got === null) return cause
  const said = [got.name, got.status === undefined ? '' : `(${got.status})`]
  const words = got.message === got.name ? '' : `: ${got.message.slice(0, 200)}`
  return new Unreachable(
    `expected to ${what}, got ${said.filter(Boolean).join(' ')}${words}; ${remedy(got)}`,
    { cause },
  )
}

/** Extracts the details from an error of the bucket client; null for other errors. */
function answered(cause: unknown): Answered | null {
  if (!(cause instanceof Error)) return null
  const metadata = '$metadata' in cause ? Object(cause.$metadata) : null
  const known =
    metadata !== null || codeOf(cause) !== null || cause.name === 'CredentialsProviderError'
  const region = cause.message === 'Region is missing'
  if (isOfDisk(cause) || !(known || region)) return null
  const status = Number(Object(metadata).httpStatusCode)
  const name = cause.name === 'Error' ? (codeOf(cause) ?? reasonOf(cause)) : cause.name
  return { name, message: reasonOf(cause), status: Number.isNaN(status) ? undefined : status }
}

function remedy({ name, message, status }: Answered): string {
  if (name === 'CredentialsProviderError') return 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  if (message === 'Region is missing') return 'set AWS_REGION'
  if (name === 'NoSuchBucket') return 'create the bucket, or name another one'
  if (status === 301 || name === 'AuthorizationHeaderMalformed') {
    return 'set AWS_REGION to the region of the bucket'
  }
  if (status === 401 || status === 403) {
    return 'check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the permissions of the key'
  }
  return 'nothing is lost, run the same command again when it is back'
}
