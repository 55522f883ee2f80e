// Detects the encoding of a list, including UTF-16, and decodes it.

import { isUtf8 } from 'node:buffer'
import { Misuse } from '../../base/errors.ts'

export interface Encoding {
  readonly label: string
  /** Length of the byte order mark, in bytes. */
  readonly mark: number
  /** `mark` is the byte order mark. `proven` means that no other encoding fits all examined bytes. */
  readonly how: 'given' | 'mark' | 'proven' | 'guessed'
}

const marks = [
  { label: 'utf-32', bytes: [0xff, 0xfe, 0x00, 0x00] },
  { label: 'utf-32', bytes: [0x00, 0x00, 0xfe, 0xff] },
  { label: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { label: 'utf-16le', bytes: [0xff, 0xfe] },
  { label: 'utf-16be', bytes: [0xfe, 0xff] },
] as const

/** `whole` is true if the file has no further bytes. */
export async function detectEncoding(
  head: Buffer,
  whole: boolean,
  wanted: string | undefined,
): Promise<Encoding> {
  const mark = marks.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte))
  if (mark?.label === 'utf-32' || isUtf32(head)) {
    throw new Misuse(
      'expected UTF-8 or UTF-16, got UTF-32, which is not supported; save the file as UTF-8',
    )
  }
  if (wanted !== undefined) {
    const label = wantedLabel(wanted, mark?.label, head)
    return { label, mark: mark?.label === label ? mark.bytes.length : 0, how: 'given' }
  }
  if (mark !== undefined) {
    return { label: canonicalLabel(mark.label), mark: mark.bytes.length, how: 'mark' }
  }
  const wide = wideLabel(head)
  if (wide !== undefined) return { label: wide, mark: 0, how: 'proven' }
  if (isUtf8(whole ? head : head.subarray(0, lastCharacterEnd(head))) || isBrokenUtf8(head)) {
    return { label: 'utf-8', mark: 0, how: 'proven' }
  }
  return { label: await guessLabel(head), mark: 0, how: 'guessed' }
}

/** In UTF-32, two bytes of nearly every group of four are zero: the last two (little-endian) or the first two. */
function isUtf32(head: Buffer): boolean {
  const groups = Math.floor(Math.min(head.length, 4096) / 4)
  const starts = Array.from({ length: groups }, (_, group) => group * 4)
  const little = starts.filter((at) => head[at] !== 0 && head[at + 2] === 0 && head[at + 3] === 0)
  const big = starts.filter((at) => head[at + 3] !== 0 && head[at] === 0 && head[at + 1] === 0)
  return groups > 1 && Math.max(little.length, big.length) > groups * 0.9
}

/** True for UTF-8 with invalid bytes, of which one is always allowed. Other encodings rarely produce UTF-8 sequences. */
function isBrokenUtf8(head: Buffer): boolean {
  let good = 0
  let bad = 0
  for (let at = 0; at < head.length;) {
    const lead = head[at] ?? 0
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1
    const following = head.subarray(at + 1, at + length)
    const whole =
      length > 1 &&
      following.length === length - 1 &&
      following.every((byte) => byte >= 0x80 && byte < 0xc0)
    if (whole) good++
    else if (lead >= 0x80) bad++
    at += whole ? length : 1
  }
  return good >= bad || bad === 1
}

/** Rejects a requested encoding that contradicts the byte order mark, if either of them is UTF-16. */
function wantedLabel(wanted: string, marked: string | undefined, head: Buffer): string {
  const typed = canonicalLabel(wanted)
  // The platform maps `utf-16` to one byte order, but the user may mean either.
  const either = typed === 'utf-16le' && wanted.trim().toLowerCase() !== typed
  const label = either ? (wideMark(marked) ?? wideLabel(head) ?? typed) : typed
  if (marked === undefined || marked === label) return label
  if (wideMark(marked) === undefined && wideMark(label) === undefined) return label
  throw new Misuse(
    `expected --encoding to match the byte order mark of the file (${marked}), got ${JSON.stringify(wanted)}; omit --encoding`,
  )
}

function wideMark(label: string | undefined): string | undefined {
  return label?.startsWith('utf-16') === true ? label : undefined
}

function canonicalLabel(name: string): string {
  const label = knownLabel(name)
  if (label !== undefined) return label
  throw new Misuse(
    `expected a known encoding such as utf-8, utf-16le, windows-1252 or shift_jis, got ${JSON.stringify(name)}; correct --encoding, or save the file as UTF-8`,
  )
}

/**
 * Detects UTF-16 without a byte order mark. Nearly all zero bytes (for example, in line ends) are on the same side of a
 * byte pair, and few byte pairs consist of two printable characters.
 */
function wideLabel(head: Buffer): string | undefined {
  if (!head.includes(0)) return undefined
  const pairs = Array.from(
    { length: Math.floor(head.length / 2) },
    (_, at) => [head[at * 2] ?? 0, head[at * 2 + 1] ?? 0] as const,
  )
  const printable = pairs.filter((pair) => pair.every((byte) => byte >= 0x20 && byte < 0x7f))
  if (printable.length > pairs.length * 0.7) return undefined
  const le = pairs.flatMap(([even, odd]) => (odd === 0 ? [even] : []))
  const be = pairs.flatMap(([even, odd]) => (even === 0 ? [odd] : []))
  const isEnough = (zeros: readonly number[], others: readonly number[]): boolean => {
    const share = zeros.includes(lf) || zeros.includes(cr) ? 0.01 : 0.3
    return zeros.length > 20 * others.length && zeros.length > pairs.length * share
  }
  return isEnough(le, be) ? 'utf-16le' : isEnough(be, le) ? 'utf-16be' : undefined
}

// Encoding names that differ between the detector and the platform's decoders.
const aliases: Readonly<Record<string, string>> = {
  'UTF-8-SIG': 'utf-8',
  GB2312: 'gb18030',
  'EUC-TW': 'big5',
  'TIS-620': 'windows-874',
  MACCYRILLIC: 'x-mac-cyrillic',
  MACROMAN: 'macintosh',
  CP932: 'shift_jis',
  CP949: 'euc-kr',
  CP874: 'windows-874',
  'BIG5-HKSCS': 'big5',
}

// Polish letters in windows-1250. These letters distinguish windows-1250 from ISO-8859-2, because the detector
// confuses the two encodings.
const polishBytes = [0x8c, 0x8f, 0x9c, 0x9f, 0xa5, 0xb9]

async function guessLabel(head: Buffer): Promise<string> {
  const { default: jschardet } = await loadDetector()
  const { encoding } = jschardet.detect(head.subarray(0, 65_536))
  if (encoding?.toUpperCase() === 'ISO-8859-16') {
    return polishBytes.some((byte) => head.includes(byte)) ? 'windows-1250' : 'iso-8859-2'
  }
  const label = aliases[(encoding ?? '').toUpperCase()] ?? encoding ?? 'windows-1252'
  const known = knownLabel(label)
  // Earlier checks have ruled out UTF-8 and UTF-16, even if the detector reports one of them.
  return known === undefined || known === 'utf-8' || known.startsWith('utf-16')
    ? 'windows-1252'
    : known
}

/** The detector is an optional package, because it is large and only suggests an encoding in a message. */
async function loadDetector() {
  try {
    return await import('jschardet')
  } catch (cause) {
    throw new Misuse(
      'expected UTF-8 or UTF-16, got another encoding; use --encoding with a name such as windows-1252 or shift_jis, or install the encoding detector: npm install jschardet',
      { cause },
    )
  }
}

function knownLabel(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}

/**
 * Converts a text to UTF-8. Rejects bytes that are invalid in the encoding instead of replacing them, and reports
 * their line and offset. If `toTheEnd` is false, the last character may be incomplete.
 */
export async function* decode(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  encoding: Encoding,
  { shown, toTheEnd = true, json }: { shown: string; toTheEnd?: boolean; json?: boolean },
): AsyncGenerator<Buffer> {
  const { label, mark } = encoding
  const push = label === 'utf-8' ? checkUtf8(shown, mark, json) : decodeOther(shown, mark, label)
  let skip = mark
  for await (const chunk of chunks) {
    const bytes = chunk.subarray(Math.min(skip, chunk.length))
    skip -= chunk.length - bytes.length
    yield push(bytes, false)
  }
  if (toTheEnd) yield push(Buffer.alloc(0), true)
}

type Push = (chunk: Buffer, last: boolean) => Buffer

function checkUtf8(shown: string, start: number, json = false): Push {
  const other = json ? '' : ', specify the encoding, such as --encoding windows-1252'
  let offset = start
  let line = 1
  let rest: Buffer = Buffer.alloc(0)
  return (chunk, last) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const end = last ? bytes.length : lastCharacterEnd(bytes)
    const text = bytes.subarray(0, end)
    if (!isUtf8(text)) {
      // Decoding replaces invalid bytes, so the first difference shows where the invalid bytes start.
      const differs = Buffer.from(text.toString()).findIndex((byte, index) => byte !== text[index])
      const at = lastCharacterEnd(text.subarray(0, differs))
      throw new Misuse(
        `${shown}:${line + lineEnds(text.subarray(0, at))}: expected UTF-8 throughout, got an invalid byte at offset ${offset + at}: ${around(text, at)}; correct that line${other}, or save the file as UTF-8`,
      )
    }
    rest = bytes.subarray(end)
    offset += end
    line += lineEnds(text)
    return text
  }
}

/** Returns the text around an invalid byte, decoded as windows-1252. */
function around(text: Buffer, at: number): string {
  const lineStart = Math.max(text.lastIndexOf(lf, at), text.lastIndexOf(cr, at)) + 1
  const near = text.subarray(Math.max(lineStart, at - 20), at + 20)
  const [shown = ''] = new TextDecoder('windows-1252').decode(near).split(/[\r\n]/)
  const byte = text.toString('hex', at, at + 1).toUpperCase()
  return `0x${byte} (as windows-1252: ${JSON.stringify(shown)})`
}

function decodeOther(shown: string, start: number, label: string): Push {
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true })
  let offset = start
  let line = 1
  return (chunk, last) => {
    try {
      const text = Buffer.from(decoder.decode(chunk, { stream: !last }))
      offset += chunk.length
      line += lineEnds(text)
      return text
    } catch (cause) {
      throw new Misuse(
        `${shown}: expected ${label} throughout, got invalid bytes between offsets ${offset} and ${offset + chunk.length}, after line ${line}; specify the encoding with --encoding, or save the file as UTF-8`,
        { cause },
      )
    }
  }
}

function lineEnds(text: Buffer): number {
  let count = 0
  for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) count++
  return count
}

// The functions below find line ends and characters in UTF-8 text. A line ends with LF, CR or CRLF.

const lf = 10
export const cr = 13

/** Returns the offset after the last line end, or 0 if there is none. Ignores a trailing CR, which may start a CRLF. */
export function lastLineEnd(bytes: Buffer): number {
  const usable = bytes[bytes.length - 1] === cr ? bytes.length - 1 : bytes.length
  if (usable === 0) return 0
  return Math.max(bytes.lastIndexOf(lf, usable - 1), bytes.lastIndexOf(cr, usable - 1)) + 1
}

/** Returns the offset after the next line end, or -1 if there is none. */
export function firstLineEnd(bytes: Buffer, from: number): number {
  const feed = bytes.indexOf(lf, from)
  const before = feed < 0 ? bytes : bytes.subarray(0, feed)
  const carriage = before.indexOf(cr, from)
  if (carriage < 0) return feed < 0 ? -1 : feed + 1
  return bytes[carriage + 1] === lf ? carriage + 2 : carriage + 1
}

/** Returns the end of a line's text, given the start of the next line. */
export function textEnd(bytes: Buffer, next: number): number {
  if (bytes[next - 1] === cr) return next - 1
  if (bytes[next - 1] !== lf) return next
  return bytes[next - 2] === cr ? next - 2 : next - 1
}

/** Returns the end of the last complete UTF-8 character. */
function lastCharacterEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) return bytes.length
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2
      return back >= length ? bytes.length : bytes.length - back
    }
  }
  return bytes.length
}
