import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../src/shared/root.ts'
import { freshDatabase } from '../support/database.ts'
import { generateTypes } from '../support/types.ts'

test('the types of the tables are those of the live schema', async () => {
  const database = await freshDatabase()
  const live = await generateTypes(database.url)
  await database.close()
  const kept = readFileSync(join(root, 'src', 'store', 'schema.ts'), 'utf8')
  expect(kept, 'type npm run generate').toBe(live)
})
