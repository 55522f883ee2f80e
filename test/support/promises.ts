// verifyPromises(db) → every check of `verify`, over one snapshot.
import type { Database } from '../../src/base/database/database.ts'
import { askPromises, type Check, onSnapshot } from '../../src/features/verify/verify.ts'

export async function verifyPromises(db: Database, zone = 'UTC'): Promise<readonly Check[]> {
  return onSnapshot(db, (snapshot) => askPromises(snapshot, { zone, days: null }))
}
