import { Misuse } from '../shared/errors.ts'

/** What a file is wrapped in: told by its first bytes, whatever its name says. */
export type Wrapping = 'none' | 'gzip' | 'zip'

const kinds: readonly { readonly start: string; readonly name: string; readonly advice: string }[] =
  [
    {
      start: 'd0cf11e0a1b11ae1',
      name: 'an old spreadsheet (.xls)',
      advice: 'save it as .xlsx or CSV',
    },
    { start: '25504446', name: 'a PDF', advice: 'export its table as CSV' },
    { start: '377abcaf271c', name: 'a 7-Zip archive', advice: 'unpack it first' },
    { start: '526172211a07', name: 'a RAR archive', advice: 'unpack it first' },
    { start: '425a68', name: 'a bzip2 file', advice: 'unpack it first: bunzip2 FILE' },
    { start: 'fd377a585a00', name: 'an xz file', advice: 'unpack it first: unxz FILE' },
    { start: '28b52ffd', name: 'a zstd file', advice: 'unpack it first: unzstd FILE' },
    { start: '89504e47', name: 'a picture', advice: 'export its table as CSV' },
    { start: 'ffd8ff', name: 'a picture', advice: 'export its table as CSV' },
    { start: '47494638', name: 'a picture', advice: 'export its table as CSV' },
    { start: '50415231', name: 'a Parquet file', advice: 'write its queries as CSV' },
    { start: '53514c69746520', name: 'an SQLite database', advice: 'write its queries as CSV' },
    { start: '7f454c46', name: 'a program', advice: 'name a list of queries' },
  ]

/** Tells what a file is wrapped in; what cannot be read is refused by the name of what it is. */
export function wrappingOf(head: Buffer, shown: string): Wrapping {
  const start = head.toString('hex', 0, 16)
  if (start.startsWith('1f8b')) return 'gzip'
  if (start.startsWith('504b0304') || start.startsWith('504b0506')) return 'zip'
  const kind = kinds.find((one) => start.startsWith(one.start))
  if (kind === undefined) return 'none'
  throw new Misuse(`expected a list of queries in ${shown}, got ${kind.name}; ${kind.advice}`)
}
