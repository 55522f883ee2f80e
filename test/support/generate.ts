// npm run generate: writes src/base/database/schema.ts and docs/schema.md from a database newly created from sql/, and
// docs/commands.md, docs/settings.md and the README's command table.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../src/base/root.ts'
import { openPool } from '../../src/base/database/database.ts'
import { describeSchema } from './dictionary.ts'
import { withDatabase } from './place.ts'
import { commandsPage, settingsPage, withCommands } from './pages.ts'
import { openServer } from './server.ts'
import { generateTypes } from './types.ts'

const readme = join(root, 'README.md')
writeFileSync(readme, withCommands(readFileSync(readme, 'utf8')))
writeFileSync(join(root, 'docs', 'commands.md'), commandsPage())
writeFileSync(join(root, 'docs', 'settings.md'), settingsPage())

const server = await openServer()
try {
  const url = withDatabase(server.adminUrl, server.template)
  writeFileSync(join(root, 'src', 'base', 'database', 'schema.ts'), await generateTypes(url))
  const pool = openPool(url, { name: 'generate', max: 1 })
  try {
    writeFileSync(join(root, 'docs', 'schema.md'), await describeSchema(pool))
  } finally {
    await pool.end()
  }
} finally {
  await server.close()
}
