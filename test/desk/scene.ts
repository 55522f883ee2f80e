// const scene = deskScene(async ({ story, pool }) => { await story.night(…) }) → before the tests of a file, creates a
// database with this history and a desk over it; removes them afterwards. `scene.view('/keywords')` is the text of a
// page, `scene.desk.get` the whole response.
import { afterAll, beforeAll, expect } from 'vitest'
import type { Database, Pool } from '../../src/base/database/database.ts'
import { ensureReader } from '../../src/base/database/reader-role.ts'
import { dropReader, Story } from '../features/analysis/story.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { openDesk, type TestDesk, type TestDeskOptions } from '../support/desk.ts'

/** A desk of a test, with its database and history. */
export interface DeskScene {
  readonly url: string
  readonly db: Database
  readonly pool: Pool
  readonly story: Story
  readonly desk: TestDesk
  /** An existing page as text; no script in it may run. */
  readonly view: (path: string) => Promise<string>
  /** The same with its markup. */
  readonly markup: (path: string) => Promise<string>
}

/** The text of a page without the minute at which it was read, to compare it with one that is read later. */
export function untimed(text: string): string {
  return text.replace(/As of \d{4}-\d\d-\d\d \d\d:\d\d/, 'As of')
}

/** The text of a page that a user reads. */
export function wordsOf(markup: string): string {
  return markup.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')
}

/** Opens a desk before the tests of a file and closes it after them. */
export function deskScene(
  tell: (scene: Omit<DeskScene, 'desk' | 'view' | 'markup'>) => Promise<unknown> = async () =>
    undefined,
  options: TestDeskOptions = {},
): DeskScene {
  const scene: { database?: FreshDatabase; story?: Story; desk?: TestDesk } = {}
  const opened = {
    get url() {
      return there(scene.database).url
    },
    get db() {
      return there(scene.database).db
    },
    get pool() {
      return there(scene.database).pool
    },
    get story() {
      return there(scene.story)
    },
    get desk() {
      return there(scene.desk)
    },
    view: async (path: string) => wordsOf(await opened.markup(path)),
    markup: async (path: string) => {
      const { status, text } = await opened.desk.get(path)
      expect(status, path).toBe(200)
      expect(text, path).not.toContain('<script>alert')
      expect(text, path).not.toMatch(/href="\s*javascript:/i)
      return text
    },
  }
  beforeAll(async () => {
    scene.database = await freshDatabase()
    await ensureReader(scene.database.pool)
    scene.story = new Story(scene.database.pool)
    await tell(opened)
    scene.desk = await openDesk(scene.database.url, options)
  })
  afterAll(async () => {
    await scene.desk?.close()
    if (scene.database === undefined) return
    await dropReader(scene.database.pool)
    await scene.database.close()
  })
  return opened
}

function there<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('expected a desk that is open, got one before its tests')
  return value
}
