import { readNumber, type DecimalSign } from './numbers.ts'
import { canonicalText, defaultNum, devices, priorities, type Device } from '../shared/query.ts'

/** A value that can be sent or kept, or the reason why it cannot. */
export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

/** Spec gap 4.1: no limit is named. */
const longestText = 2048

// A Chinese character takes nine characters in an address. Beside the query there is room for the longest place, within
// the 16 KB that common servers and the bundled service take.
const longestSent = 14_000

const longestName = 200

// What no keyboard types and no server reads as text; line ends and tabs count as blanks instead.
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u0008\u000e-\u001f\u007f]/

// A cell that a spreadsheet would have computed: what it was meant to say is not in the file.
const formula = /^=\s*(?:["'(\d]|[A-Z]+\(|\$?[A-Z]{1,3}\$?\d)/

function good<T>(value: T): Checked<T> {
  return { ok: true, value }
}

function bad(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

/** The text of a query as it is sent. */
export function checkText(given: string, formulas: 'keep' | 'refuse' = 'refuse'): Checked<string> {
  if (control.test(given)) return bad('a control character in the query')
  const text = canonicalText(given)
  // Two dashes are how advertising reports write "nothing".
  if (text === '' || text === '--') return bad('no query')
  if (text.length > longestText) return bad(`query longer than ${longestText} characters`)
  if (text.length * 9 > longestSent && sentLength(text) > longestSent) {
    return bad(
      `query longer than ${longestSent} characters as an address spells it, though not than ${longestText} of its own`,
    )
  }
  if (formulas === 'refuse' && text.startsWith('=') && formula.test(text))
    return bad('a formula instead of a query')
  return good(text)
}

/** How many characters the text has in the address of a call. */
function sentLength(text: string): number {
  return new URLSearchParams({ q: text }).toString().length - 'q='.length
}

function checkName(given: string, what: string): Checked<string | null> {
  if (control.test(given)) return bad(`a control character in ${what}`)
  const text = canonicalText(given)
  if (text.length > longestName) return bad(`${what} longer than ${longestName} characters`)
  return good(text === '' ? null : text)
}

/** A place by its name. */
export function checkPlace(given: string): Checked<string | null> {
  return checkName(given, 'location')
}

/** A language code such as `de` or `pt-BR`, in any case: the API refuses an underscore in it. */
export function checkLanguage(given: string): Checked<string | null> {
  const text = canonicalText(given)
  if (text === '') return good(null)
  if (text.length > longestName) return bad(`hl longer than ${longestName} characters`)
  if (/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(text)) return good(text)
  return bad('hl is no language code such as "de" or "pt-BR"')
}

/** A country code such as `us`, in any case: the API refuses codes of three letters. */
export function checkCountry(given: string): Checked<string | null> {
  const text = canonicalText(given)
  if (text === '') return good(null)
  if (/^[A-Za-z]{2}$/.test(text)) return good(text)
  return bad('gl is no country code of two letters such as "us"')
}

/** How many results are asked for. */
export function checkNum(given: string): Checked<number> {
  const text = given.trim()
  if (text === '') return good(defaultNum)
  const num = Number(text)
  if (/^\d{1,3}$/.test(text) && num >= 1 && num <= 100) return good(num)
  return bad('num is no whole number from 1 to 100')
}

// As advertising accounts, search consoles and people call them.
const deviceWords: ReadonlyMap<string, Device> = new Map([
  ...['computer', 'computers', 'pc', 'desktops', 'laptop'].map(
    (word) => [word, 'desktop'] as const,
  ),
  ...[
    'mobiles',
    'smartphone',
    'smartphones',
    'phone',
    'phones',
    'mobile phone',
    'mobile phones',
  ].map((word) => [word, 'mobile'] as const),
  ['mobile phones with full browsers', 'mobile'],
  ['mobile devices with full browsers', 'mobile'],
  ...['tablets', 'tablets with full browsers'].map((word) => [word, 'tablet'] as const),
])

// The middle of each third.
const priorityWords: ReadonlyMap<string, number> = new Map([
  ['highest', priorities.first],
  ['high', 2],
  ['medium', priorities.usual],
  ['normal', priorities.usual],
  ['low', 8],
  ['lowest', priorities.last],
])

/** The kind of device, in any case. */
export function checkDevice(given: string): Checked<Device | null> {
  const text = given.trim().toLowerCase()
  if (text === '') return good(null)
  const device = devices.find((name) => name === text) ?? deviceWords.get(text)
  return device === undefined ? bad(`device is none of ${devices.join(', ')}`) : good(device)
}

/** 1 is bought first, 9 last. */
export function checkPriority(given: string): Checked<number> {
  const text = given.trim()
  if (text === '') return good(priorities.usual)
  const word = priorityWords.get(text.toLowerCase())
  if (word !== undefined) return good(word)
  const priority = Number(text)
  if (/^\d$/.test(text) && priority >= priorities.first && priority <= priorities.last) {
    return good(priority)
  }
  return bad(`priority is no whole number from ${priorities.first} to ${priorities.last}`)
}

/** How much a query counts, read as its column writes numbers. */
export function checkWeight(given: string, decimal: DecimalSign): Checked<number | null> {
  const value = readNumber(given, decimal)
  return value === undefined ? bad('weight is no number from 0 up') : good(value)
}

/** The page that ought to rank, written as browsers write it: so are the addresses it will be compared with. */
export function checkTarget(given: string): Checked<string | null> {
  const text = canonicalText(given)
  if (control.test(given)) return bad('a control character in the target address')
  if (text.length > longestText) return bad(`target address longer than ${longestText} characters`)
  return good(text === '' ? null : asBrowsersWrite(text))
}

/** What no browser would take, and what is no page of the web, stays as it is. */
function asBrowsersWrite(address: string): string {
  if (/^https?:\/\//i.test(address)) return URL.canParse(address) ? new URL(address).href : address
  const whole = `https://${address}`
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address) || !URL.canParse(whole)) return address
  return new URL(whole).href.slice('https://'.length)
}

/** Labels, divided by commas, semicolons or bars. */
export function readTags(given: string): readonly string[] {
  const tags = given
    .split(/[,;|]/)
    // eslint-disable-next-line no-control-regex -- a label is shown in tables and terminals
    .map((tag) => canonicalText(tag.replace(/[\u0000-\u001f\u007f]/g, ' ')))
    .filter((tag) => tag !== '')
  return [...new Set(tags)]
}

/** Takes the match-type signs of advertising accounts off: "phrase", [exact], +broad +modifier. */
export function stripMatchType(given: string): string {
  const text = given.trim()
  const inside = /^"(.*)"$|^\[(.*)\]$/su.exec(text)
  if (inside !== null) return inside[1] ?? inside[2] ?? ''
  return text.replace(/(^|\s)\+(?=\S)/g, '$1')
}
