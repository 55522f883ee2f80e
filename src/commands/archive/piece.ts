import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { ArchivedColumn } from '../../store/archive/tables.ts'
import type { ArchivedFile } from '../mill/archive/manifest.ts'
import type { FiledRows } from '../mill/parquet/read.ts'
import { ParquetDraft } from '../mill/parquet/write.ts'
import type { ArchiveTarget } from './target.ts'

/** One Parquet file on its way into the archive. */
export class Piece {
  readonly #folder: ArchiveTarget
  readonly #name: string
  readonly #handle: FileHandle
  readonly #draft: ParquetDraft
  readonly #hash = createHash('sha256')
  #rows = 0
  bytes = 0

  private constructor(
    folder: ArchiveTarget,
    { name, handle }: { readonly name: string; readonly handle: FileHandle },
    columns: readonly ArchivedColumn[],
  ) {
    this.#folder = folder
    this.#name = name
    this.#handle = handle
    this.#draft = new ParquetDraft(columns)
  }

  static async begin(
    folder: ArchiveTarget,
    name: string,
    columns: readonly ArchivedColumn[],
  ): Promise<Piece> {
    return new Piece(folder, { name, handle: await folder.draft(name) }, columns)
  }

  async add(rows: FiledRows): Promise<void> {
    this.#rows += rows.length
    this.#draft.add(rows)
    if (this.#draft.full) await this.#put(this.#draft.takeGroup())
  }

  /** The whole file is on the disk, under the name of a draft. */
  async end(): Promise<ArchivedFile> {
    if (this.#draft.rows > 0) await this.#put(this.#draft.takeGroup())
    await this.#put(this.#draft.takeEnd())
    await this.#folder.settle(this.#handle, this.#name)
    const sha256 = this.#hash.digest('hex')
    return { path: this.#name, rows: this.#rows, bytes: this.bytes, sha256 }
  }

  /** Lets go of a file that will not be finished. */
  async drop(): Promise<void> {
    await this.#handle.close().catch(() => undefined)
  }

  async #put(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes)
    this.bytes += bytes.length
    await this.#folder.append(this.#handle, this.#name, bytes)
  }
}
