import { say } from '../../../shared/terminal/command.ts'
import type { ArchiveReader } from '../../../store/archive/load.ts'
import type { Mill } from '../mill.ts'
import type { ArchiveReading } from './load.ts'

/** Which part of the archive is read beside the tables. */
export type AskedArchive = Pick<ArchiveReading, 'span' | 'folder'>

/** What is to be done on the connection of a question before it is asked. */
export function readArchive(
  asked: AskedArchive,
  { db, installation, config }: Pick<Mill, 'db' | 'installation' | 'config'>,
  text: string,
): (client: ArchiveReader) => Promise<void> {
  return async (client) => {
    // Whoever asks without the archive does not wait for what reads files.
    const { loadArchive } = await import('./load.ts')
    const { openPlaces } = await import('./places.ts')
    await loadArchive(client, {
      ...asked,
      db,
      installation,
      text,
      places: openPlaces(config.bucket),
      tell: say,
    })
  }
}
