import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import type { BucketAccess } from '../../../shared/bucket.ts'
import { Misuse } from '../../../shared/errors.ts'
import type { BucketAddress } from './address.ts'
import { openClient, type BucketClient } from './client.ts'
import { isOfDisk, unwritable } from './disk.ts'
import type { ArchivePlace, FetchedFile } from './place.ts'
import { isAbsent, refusal } from './refusal.ts'
import { makeScratch } from './scratch.ts'

/**
 * An archive in a bucket: an object is there whole or not at all, and large files pass through one at a time. Not `Bucket`:
 * inside of a class of that name TypeScript 7.0 compiles the field `Bucket` of a request to another one.
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
    // Page by page, each going on behind a name: of the ways to list, the one that all makers have in common.
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

  /** Brings an object to a folder of its own, which goes with it. */
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

  /** What an object holds, by its SHA-256, as whoever fetches it gets it. */
  async hash(name: string): Promise<string> {
    const hash = createHash('sha256')
    await this.#getting(name, async (found) => {
      for await (const piece of this.#bodyOf(found, name)) hash.update(piece as Buffer)
    })
    return hash.digest('hex')
  }

  /** Puts a file into the bucket; what was there under its name is replaced. */
  async put(name: string, path: string): Promise<void> {
    // Not as a stream: the client sends again only what it still has.
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
    // On this platform a body is one of its own streams.
    if (found?.Body !== undefined) return found.Body as Readable
    throw new Misuse(
      `expected the file ${this.where(name)} of the archive, got nothing there; put it back, nothing was changed`,
    )
  }

  /** Reads an object; null for one that is not there. A line that breaks while it is read is a refusal too. */
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
