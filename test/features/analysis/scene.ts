// const scene = storyScene() → before each test of a file, creates a database and a history: `scene.story`,
// `scene.ask(text)` for the rows of a query, `scene.db` and `scene.pool`; removed after the test.
import { afterEach, beforeEach } from 'vitest'
import type { Database, Pool } from '../../../src/base/database/database.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { Story } from './story.ts'

export interface StoryScene {
  readonly url: string
  readonly db: Database
  readonly pool: Pool
  readonly story: Story
  readonly ask: (text: string) => Promise<unknown[]>
}

export function storyScene(): StoryScene {
  let database: FreshDatabase
  let story: Story
  beforeEach(async () => {
    database = await freshDatabase()
    story = new Story(database.pool)
  })
  afterEach(() => database.close())
  return {
    get url() {
      return database.url
    },
    get db() {
      return database.db
    },
    get pool() {
      return database.pool
    },
    get story() {
      return story
    },
    ask: async (text) => (await database.pool.query({ text, rowMode: 'array' })).rows,
  }
}
