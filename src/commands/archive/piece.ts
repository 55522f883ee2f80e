import { join } from 'node:path'
import type { CopiedRows } from '../../store/archive/copy.ts'
import type { FiledColumn } from '../../store/archive/enter.ts'
import type { ParquetEngine } from '../mill/archive/engine.ts'
import { hashFile } from '../mill/archive/files.ts'
import type { ArchivedFile } from '../mill/archive/manifest.ts'
import type { ArchiveTarget } from './target.ts'

/** Who makes a file, and where it goes. */
interface Maker {
  readonly folder: ArchiveTarget
  readonly engine: ParquetEngine
}

/** One Parquet file on its way into the archive. */
export class Piece {
  readonly #maker: Maker
  readonly #name: string
  readonly #spool: ReturnType<ParquetEngine['spool']>

  constructor(maker: Maker, name: string) {
    this.#maker = maker
    this.#name = name
    this.#spool = maker.engine.spool()
  }

  /** Bytes of text so far. */
  get bytes(): number {
    return this.#spool.bytes
  }

  add(rows: CopiedRows): void {
    this.#spool.add(rows)
  }

  /** The whole file is on the disk, under the name of a draft. */
  async end(columns: readonly FiledColumn[]): Promise<ArchivedFile> {
    const { engine, folder } = this.#maker
    const handle = await folder.draft(this.#name)
    const path = join(folder.path, folder.draftName(this.#name))
    try {
      await engine.write(this.#spool, columns, path)
      await handle.sync()
      const { size: bytes } = await handle.stat()
      return { path: this.#name, rows: this.#spool.rows, bytes, sha256: hashFile(path, path) }
    } finally {
      await handle.close()
    }
  }

  /** Lets go of a file that will not be finished. */
  drop(): void {
    this.#spool.drop()
  }
}
