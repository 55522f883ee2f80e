import { ensurePostgres, postgresStatus, stopPostgres } from '../../embedded/postgres.ts'
import { findPostmaster } from '../../embedded/postmaster.ts'
import type { Closers } from '../../shared/closers.ts'
import { pause } from '../../shared/waiting.ts'
import { openDatabase, openPool, type Database } from '../../store/database.ts'
import { replaceDatabase } from '../../store/operator/setback.ts'

const copy = 'earlier'

/** The embedded PostgreSQL of a site: to be killed, and to be set back to an earlier state. */
export class DatabaseServer {
  readonly url: string
  readonly #home: string

  private constructor(home: string, url: string) {
    this.#home = home
    this.url = url
  }

  static async open(
    home: string,
    { closers, say }: { closers: Closers; say: (line: string) => void },
  ): Promise<DatabaseServer> {
    closers.add('the database', home, stopPostgres)
    const { url } = await ensurePostgres(home, { say })
    return new DatabaseServer(home, url)
  }

  /** Ends it as a power cut would, and starts it again: it recovers from its log. */
  async restart(awayMs: number): Promise<void> {
    const { data } = await postgresStatus(this.#home)
    const found = data === null ? null : findPostmaster(data)
    if (found !== null && data !== null) {
      process.kill(found.pid, 'SIGQUIT')
      while (findPostmaster(data) !== null) await pause(20)
    }
    await pause(awayMs)
    await this.ensure()
  }

  /** Starts it when it ended by itself, for want of room. */
  async ensure(): Promise<void> {
    await ensurePostgres(this.#home)
  }

  /** Keeps a copy of how things are. */
  async remember(): Promise<void> {
    await replaceDatabase(this.url, { from: this.#name, to: copy })
  }

  /** Puts the copy in the place of what has become of it since. */
  async setBack(): Promise<void> {
    await replaceDatabase(this.url, { from: copy, to: this.#name })
  }

  /** A connection for each question: a lasting one would break with each restart of the server. */
  async ask<T>(question: (db: Database) => Promise<T>): Promise<T> {
    const db = openDatabase(openPool(this.url, { name: 'chaos', max: 1 }))
    try {
      return await question(db)
    } finally {
      await db.destroy()
    }
  }

  get #name(): string {
    return new URL(this.url).pathname.slice(1)
  }
}
