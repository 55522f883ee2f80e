import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { WrongDatabase } from '../shared/errors.ts'
import { canEnter, type User } from './child.ts'

// Survives a reboot, which the usual folder for temporary files does not.
const publicFolders = ['/var/lib/querymill', '/var/tmp/querymill']

/** The folder that holds data (and copied programs): the home, unless the server's user cannot walk into it. */
export async function choosePlace(home: string, user: User): Promise<string> {
  if (await canEnter(user, home)) return home
  for (const folder of publicFolders) {
    const place = join(folder, randomBytes(6).toString('hex'))
    if (!makeOwn(folder)) continue
    mkdirSync(place)
    chmodSync(place, 0o711)
    if (await canEnter(user, place)) return place
  }
  throw new WrongDatabase(
    `expected a folder that the database's own user can enter, got none in ${[home, ...publicFolders].join(', ')}; set MILL_HOME to one, or work as a user other than root`,
  )
}

/** False when the folder cannot be made, or when another user has put something else under its name. */
function makeOwn(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true })
  } catch {
    return false
  }
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return false
  // Not left to the mask of the shell, which may keep everybody else out.
  chmodSync(folder, 0o711)
  return true
}
