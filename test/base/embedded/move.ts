// Started by a test as a separate process: requests the service of a home for one database, then for another, and
// exits.
import { ensureService } from '../../../src/base/embedded/service.ts'

const [home = '', ...databases] = process.argv.slice(2)
for (const databaseUrl of databases) {
  const { url } = await ensureService({ home, databaseUrl })
  process.stdout.write(`${url.origin}\n`)
}
