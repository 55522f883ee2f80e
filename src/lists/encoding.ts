import { isUtf8 } from 'node:buffer'
import { Misuse } from '../shared/errors.ts'
import { lastCharacterEnd } from './line-ends.ts'

/** How the bytes of a list spell its text. */
export interface Encoding {
  readonly label: string
  /** Bytes of the mark at the beginning that says so. */
  readonly mark: number
  /** Typed by a person, told by a mark, proven by all the bytes that were looked at, or guessed: nothing is bought on that. */
  readonly how: 'given' | 'mark' | 'proven' | 'guessed'
}

const marks = [
  { label: 'utf-32', bytes: [0xff, 0xfe, 0x00, 0x00] },
  { label: 'utf-32', bytes: [0x00, 0x00, 0xfe, 0xff] },
  { label: 'utf-8', bytes: [0xef, 0xbb, 0xbf] },
  { label: 'utf-16le', bytes: [0xff, 0xfe] },
  { label: 'utf-16be', bytes: [0xfe, 0xff] },
] as const

/** Tells the encoding from the first bytes; `whole` when there are no more. */
export async function detectEncoding(
  head: Buffer,
  whole: boolean,
  wanted: string | undefined,
): Promise<Encoding> {
  const mark = marks.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte))
  if (mark?.label === 'utf-32' || isUtf32(head)) throw utf32()
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

function utf32(): Misuse {
  return new Misuse(
    'expected UTF-8 or UTF-16, got UTF-32, which is not read; save the file as UTF-8',
  )
}

/** Text of four bytes to a character: two of them are nought in nearly every group, always on the same side. */
function isUtf32(head: Buffer): boolean {
  const groups = Math.floor(Math.min(head.length, 4096) / 4)
  let little = 0
  let big = 0
  for (let at = 0; at < groups * 4; at += 4) {
    if (head[at + 2] === 0 && head[at + 3] === 0 && head[at] !== 0) little++
    if (head[at] === 0 && head[at + 1] === 0 && head[at + 3] !== 0) big++
  }
  return groups > 1 && Math.max(little, big) > groups * 0.9
}

/**
 * UTF-8 with a bad byte in it: other encodings hardly ever spell a whole character of it by chance. A single byte tells
 * nothing of another encoding, and half a character in three bytes comes from a program that broke UTF-16 in two.
 */
function isBrokenUtf8(head: Buffer): boolean {
  let good = 0
  let bad = 0
  for (let at = 0; at < head.length;) {
    const lead = head[at] ?? 0
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1
    const spelt = head.subarray(at, at + length)
    const whole = length > 1 && (isUtf8(spelt) || isHalf(spelt))
    if (whole) good++
    else if (lead >= 0x80) bad++
    at += whole ? length : 1
  }
  return good >= bad || bad === 1
}

/** Half a character: what only pairs of UTF-16 are made of, spelt as if it were one. */
export function isHalf([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  return first === 0xed && second >= 0xa0 && second < 0xc0 && third >= 0x80 && third < 0xc0
}

/** The encoding that was typed. A mark is proof where UTF-16 is concerned: any other reading gives other letters. */
function wantedLabel(wanted: string, marked: string | undefined, head: Buffer): string {
  const typed = canonicalLabel(wanted)
  // The platform takes `utf-16` for one of its byte orders; who types it means both.
  const either = typed === 'utf-16le' && wanted.trim().toLowerCase() !== typed
  const label = either ? (wideMark(marked) ?? wideLabel(head) ?? typed) : typed
  if (marked === undefined || marked === label) return label
  if (wideMark(marked) === undefined && wideMark(label) === undefined) return label
  throw new Misuse(
    `expected --encoding to say what the mark at the beginning of the file says, ${marked}, got ${JSON.stringify(wanted)}; leave --encoding out`,
  )
}

function wideMark(label: string | undefined): string | undefined {
  return label?.startsWith('utf-16') === true ? label : undefined
}

function canonicalLabel(name: string): string {
  try {
    return new TextDecoder(name).encoding
  } catch {
    throw new Misuse(
      `expected an encoding that is known here, got ${JSON.stringify(name)}; type --encoding with utf-8, utf-16le, windows-1252, shift_jis or the like, or save the file as UTF-8`,
    )
  }
}

/** UTF-16 without its mark: line ends have their zero on one side, and text in it is no pairs of letters. */
function wideLabel(head: Buffer): string | undefined {
  if (!head.includes(0)) return undefined
  const pairs = Math.floor(head.length / 2)
  const found = { le: 0, be: 0, leEnds: 0, beEnds: 0, letters: 0 }
  for (let index = 0; index + 1 < head.length; index += 2) {
    const even = head[index] ?? 0
    const odd = head[index + 1] ?? 0
    if (odd === 0) found.le++
    if (even === 0) found.be++
    if (odd === 0 && (even === 0x0a || even === 0x0d)) found.leEnds++
    if (even === 0 && (odd === 0x0a || odd === 0x0d)) found.beEnds++
    if (isPrintable(even) && isPrintable(odd)) found.letters++
  }
  if (found.letters > pairs * 0.7) return undefined
  const enough = (zeros: number, ends: number): boolean => zeros > pairs * (ends > 0 ? 0.01 : 0.3)
  if (found.le > 20 * found.be && enough(found.le, found.leEnds)) return 'utf-16le'
  if (found.be > 20 * found.le && enough(found.be, found.beEnds)) return 'utf-16be'
  return undefined
}

function isPrintable(byte: number): boolean {
  return byte >= 0x20 && byte < 0x7f
}

// What the detector calls an encoding, where the platform's decoders call it otherwise.
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

/** Where the letters of Polish lie in windows-1250 and not in ISO-8859-2, which the detector takes for one another. */
const polishBytes = [0x8c, 0x8f, 0x9c, 0x9f, 0xa5, 0xb9]

async function guessLabel(head: Buffer): Promise<string> {
  const { default: jschardet } = await import('jschardet')
  const { encoding } = jschardet.detect(head.subarray(0, 65_536))
  if (encoding?.toUpperCase() === 'ISO-8859-16') {
    return polishBytes.some((byte) => head.includes(byte)) ? 'windows-1250' : 'iso-8859-2'
  }
  const label = aliases[(encoding ?? '').toUpperCase()] ?? encoding ?? 'windows-1252'
  const known = knownLabel(label)
  // The bytes are no UTF-8, whatever statistics say.
  return known === undefined || known === 'utf-8' || known.startsWith('utf-16')
    ? 'windows-1252'
    : known
}

function knownLabel(label: string): string | undefined {
  try {
    return new TextDecoder(label).encoding
  } catch {
    return undefined
  }
}
