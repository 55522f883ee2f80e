// What the tests start as a process of its own: makes sure of the server of the home that is named, and says what it got.
import { ensurePostgres } from '../../../src/base/embedded/postgres.ts'

const { url, started } = await ensurePostgres(process.argv[2] ?? '', {
  tuning: { fsync: 'off' },
})
process.stdout.write(`${JSON.stringify({ url, started, uid: process.getuid?.() })}\n`)
// With a second word it stays, as a command at work would.
if (process.argv[3] === 'stay') setInterval(() => undefined, 1_000)
