// verifyPromises(db) → every check of `verify`, over one snapshot.
import type { Database } from '../../src/base/database/database.ts'
import { runChecks, type Check, onSnapshot } from '../../src/features/verify/verify.ts'

export async function verifyPromises(db: Database, zone = 'UTC'): Promise<readonly Check[]> {
  return onSnapshot(db, (snapshot) => runChecks(snapshot, { zone, days: null }))
}
