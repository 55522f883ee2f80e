// Checks the values of cells: numbers, countries, languages, ages.

import { parseUrl } from '../../base/address.ts'
import { createRequire } from 'node:module'
import { canonicalText, defaultNum, type Device, devices, priorities } from '../../base/query.ts'
import { readDuration } from '../../base/time/zone.ts'

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string }

export function isNumber(cell: string): boolean {
  return /^\s*[<>+-]?[\d.,\s]*\d\s*%?\s*$/.test(cell)
}

// Placeholders that tools and people use for missing values.
const gap = /^\s*(?:[-–—.∞]*|n\/?a|none|null)\s*$/iu

export function isGap(cell: string): boolean {
  return gap.test(cell)
}

export function isFilled(cell: string): boolean {
  return cell.trim() !== ''
}

export function filledCells(cells: readonly string[]): string[] {
  return cells.filter(isFilled)
}

export function isBlank(cells: readonly string[]): boolean {
  return !cells.some(isFilled)
}

/** Spec gap 4.1: the API documents no maximum length of a query. */
const longestText = 2048

// Common servers and the bundled service accept 16 KB, which leaves room for the longest place.
const longestSent = 14_000

const longestName = 200

// Line ends and tabs are left out, because they count as blanks.
// eslint-disable-next-line no-control-regex -- finds control characters
const control = /[\u0000-\u0008\u000e-\u001f\u007f]/

const formula = /^=\s*(?:["'(\d]|[\w.]+[(!]|\$?[A-Z]{1,3}\$?\d)/
const sheetError = /^#(?:N\/A|REF!|VALUE!|DIV\/0!|NAME\?|NULL!|NUM!|SPILL!|CALC!|GETTING_DATA)$/
// A cell that a spreadsheet converted to a date.
const sheetDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/

// UTF-8 that was decoded as windows-1252 and encoded again, such as "Ã¶" for "ö".
const broken = /[ÂÃâ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/u

export function isBroken(text: string): boolean {
  return broken.test(text)
}

export function good<T>(value: T): Checked<T> {
  return { ok: true, value }
}

export function bad(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason }
}

/** Returns the query text that will be sent. */
export function checkText(given: string, formulas: 'keep' | 'refuse' = 'refuse'): Checked<string> {
  if (control.test(given)) return bad('a control character in the query')
  const text = canonicalText(given)
  // Advertising reports use two dashes for a missing value.
  if (text === '' || text === '--') return bad('no query')
  if (text.length > longestText) return bad(`query longer than ${longestText} characters`)
  // A Chinese character becomes nine characters in a URL.
  if (text.length * 9 > longestSent && sentLength(text) > longestSent) {
    return bad(`query longer than ${longestSent} characters when URL-encoded`)
  }
  if (formulas === 'keep') return good(text)
  if (text.startsWith('=') && formula.test(text)) return bad('a formula instead of a query')
  if (text.startsWith('#') && sheetError.test(text))
    return bad('a spreadsheet error instead of a query')
  if (sheetDate.test(text)) return bad('a date instead of a query')
  if (isBroken(text)) return bad('characters broken by a wrong encoding')
  return good(text)
}

function sentLength(text: string): number {
  return new URLSearchParams({ q: text }).toString().length - 'q='.length
}

export function checkPlace(given: string): Checked<string | null> {
  if (control.test(given)) return bad('a control character in the location')
  const text = canonicalText(given)
  if (text.length > longestName) return bad(`location longer than ${longestName} characters`)
  return good(text === '' ? null : text)
}

/** Checks a place in an unmapped column, which may also contain ranks and gaps. */
export function namedPlace(given: string): Checked<string | null> {
  if (isGap(given)) return good(null)
  return isNumber(given) ? bad('location is a number instead of a name') : checkPlace(given)
}

/** The API accepts upper and lower case, but no underscores. */
export function checkLanguage(given: string): Checked<string | null> {
  if (canonicalText(given).length > longestName)
    return bad(`hl longer than ${longestName} characters`)
  const reason = 'hl is not a language code such as "de" or "pt-BR"'
  return checkCode(given, /^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, reason)
}

/** The API accepts upper and lower case, but only two-letter codes. */
export function checkCountry(given: string): Checked<string | null> {
  return checkCode(given, /^[A-Za-z]{2}$/, 'gl is not a two-letter country code such as "us"')
}

function checkCode(given: string, code: RegExp, reason: string): Checked<string | null> {
  const text = canonicalText(given)
  return text === '' || code.test(text) ? good(text || null) : bad(reason)
}

export function knownLanguage(given: string): Checked<string | null> {
  return checkKnown(given, languageCode(given), 'hl is not a known language code or name')
}

export function knownCountry(given: string): Checked<string | null> {
  return checkKnown(given, countryCode(given), 'gl is not a known country code or name')
}

function checkKnown(given: string, code: string | undefined, reason: string) {
  return code !== undefined || isGap(given) ? good(code ?? null) : bad(reason)
}

export function checkNum(given: string): Checked<number> {
  const text = given.trim()
  if (text === '') return good(defaultNum)
  const num = Number(text)
  if (/^\d{1,3}$/.test(text) && num >= 1 && num <= 100) return good(num)
  return bad('num is not a whole number from 1 to 100')
}

// Device names from advertising accounts, search consoles and everyday use.
const deviceWords: Readonly<Record<Device, string>> = {
  desktop: 'computer,computers,pc,desktops,laptop',
  mobile:
    'mobiles,smartphone,smartphones,phone,phones,mobile phone,mobile phones,mobile phones with full browsers,mobile devices with full browsers',
  tablet: 'tablets,tablets with full browsers',
}

// "high", "medium" and "low" are the middle of the first, second and last third of the priority range.
const priorityWords: ReadonlyMap<string, number> = new Map([
  ['highest', priorities.first],
  ['high', 2],
  ['medium', priorities.usual],
  ['normal', priorities.usual],
  ['low', 8],
  ['lowest', priorities.last],
])

export function checkDevice(given: string): Checked<Device | null> {
  const text = given.trim().toLowerCase()
  if (text === '') return good(null)
  const device = devices.find((name) => [name, ...deviceWords[name].split(',')].includes(text))
  return device === undefined ? bad(`device is not one of ${devices.join(', ')}`) : good(device)
}

export function checkPriority(given: string): Checked<number> {
  const text = given.trim()
  if (text === '') return good(priorities.usual)
  const word = priorityWords.get(text.toLowerCase())
  if (word !== undefined) return good(word)
  const priority = Number(text)
  if (/^\d$/.test(text) && priority >= priorities.first && priority <= priorities.last) {
    return good(priority)
  }
  return bad(`priority is not a whole number from ${priorities.first} to ${priorities.last}`)
}

export function checkWeight(given: string, decimal: DecimalSign): Checked<number | null> {
  const value = readNumber(given, decimal)
  return value === undefined ? bad('weight is negative or not a number') : good(value)
}

/** Normalizes the URL of a target page as browsers do, so that it matches the URLs in answers. */
export function checkTarget(given: string): Checked<string | null> {
  const text = canonicalText(given)
  if (control.test(given)) return bad('a control character in the target address')
  if (text.length > longestText) return bad(`target address longer than ${longestText} characters`)
  return good(text === '' ? null : asBrowsersWrite(text))
}

/** Returns a URL unchanged if browsers would reject it. */
function asBrowsersWrite(address: string): string {
  if (/^https?:\/\//i.test(address)) return parseUrl(address)?.href ?? address
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(address)) return address
  return parseUrl(`https://${address}`)?.href.slice('https://'.length) ?? address
}

export function readTags(given: string): readonly string[] {
  const tags = given
    .split(/[,;|]/)
    // eslint-disable-next-line no-control-regex -- a label is shown in tables and terminals
    .map((tag) => canonicalText(tag.replace(/[\u0000-\u001f\u007f]/g, ' ')))
    .filter((tag) => tag !== '')
  return [...new Set(tags)]
}

/** Removes the match-type syntax of advertising accounts: "phrase", [exact], +broad +modifier. */
export function stripMatchType(given: string): string {
  const text = given.trim()
  const inside = /^"(.*)"$|^\[(.*)\]$/su.exec(text)
  if (inside !== null) return inside[1] ?? inside[2] ?? ''
  return text.replace(/(^|\s)\+(?=\S)/g, '$1')
}

/** Decimal separator. The other character separates thousands. */
export type DecimalSign = '.' | ','

const decorations = /^(?:[<>~≈]|US|CA|AU|[A-Z]{3})*\s*[$€£¥₹₩₽]?\s*|\s*(?:[%$€£¥₹₩₽]|[A-Z]{3})?$/gu

// Matches nearly every cell in a column of numbers, and is faster than the checks for signs and currencies.
const digits = /^\d{1,15}$/

/** Removes currencies, percent signs and blanks between thousands. Returns null if the cell is not a number. */
function bareNumber(cell: string): string | null {
  if (digits.test(cell)) return cell
  const text = cell
    .trim()
    .replace(decorations, '')
    .replace(/(?<=\d)[\s'’](?=\d{3})/gu, '')
  return /^\d[\d.,]*$/.test(text) && /\d$/.test(text) ? text : null
}

/** Returns null for a gap, and undefined for any other cell that is not a number. */
export function readNumber(cell: string, decimal: DecimalSign): number | null | undefined {
  if (digits.test(cell)) return Number(cell)
  if (isGap(cell)) return null
  const bare = bareNumber(cell)
  if (bare === null) return undefined
  const [thousands, sign] = decimal === '.' ? [',', '.'] : ['.', ',']
  const [whole = '', part, more] = bare.split(sign)
  const groups = whole.split(thousands)
  if (more !== undefined || part?.includes(thousands) === true) return undefined
  if (groups.length > 1 && !groups.slice(1).every((group) => /^\d{3}$/.test(group)))
    return undefined
  const value = Number(`${groups.join('')}.${part ?? '0'}`)
  return groups.join('').length <= 15 ? value : undefined
}

/** Determines the decimal sign of a column of numbers. */
export class NumberStyle {
  #certain = { point: 0, comma: 0 }
  #grouped = { point: 0, comma: 0 }
  #ungrouped = 0

  look(cell: string): void {
    const text = bareNumber(cell)
    if (text === null) return
    if (/^\d+$/.test(text)) {
      if (text.length > 3) this.#ungrouped++
      return
    }
    const isPoint = text.lastIndexOf('.') > text.lastIndexOf(',')
    const [sign, other] = isPoint ? (['point', 'comma'] as const) : (['comma', 'point'] as const)
    const tail = text.slice(text.search(/[.,]\d*$/) + 1)
    if (text.includes('.') && text.includes(',')) this.#certain[sign]++
    else if (text.split(/[.,]/).length > 2) this.#certain[other]++
    else if (tail.length !== 3 || text.startsWith('0') || text.length > 7) this.#certain[sign]++
    else this.#grouped[sign]++
  }

  /** Returns null if the column contains two formats, or if numbers such as 1.200 remain ambiguous. */
  decide(wanted: DecimalSign | undefined, delimiter: string | null): DecimalSign | null {
    if (wanted !== undefined) return wanted
    const { point, comma } = this.#certain
    if (point > 0 && comma > 0) return null
    if (point > 0) return '.'
    if (comma > 0) return ','
    if (this.#grouped.point + this.#grouped.comma === 0) return '.'
    if (this.#ungrouped > 0 || (this.#grouped.point > 0 && this.#grouped.comma > 0)) return null
    if (this.#grouped.comma > 0) return '.'
    return delimiter === ';' || delimiter === '\t' ? ',' : null
  }
}

const languagesOfNames =
  'en de fr es it pt nl pl ru tr ja ko zh zh-Hant sv da nb fi cs hu ro el uk ar he vi id'.split(' ')

// Spellings used by people and older exports, but not by CLDR or ISO.
const otherCountries: Readonly<Record<string, string>> = {
  uk: 'gb',
  'great britain': 'gb',
  england: 'gb',
  uae: 'ae',
  holland: 'nl',
  macau: 'mo',
  macedonia: 'mk',
  'macedonia fyrom': 'mk',
  burma: 'mm',
  swaziland: 'sz',
  'cape verde': 'cv',
  'ivory coast': 'ci',
  'vatican city': 'va',
  kosovo: 'xk',
  xkx: 'xk',
}

/** Normalizes case, and removes accents and punctuation, which people may omit. */
function nameKey(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

const iso = createRequire(import.meta.url)

interface CountryNames {
  readonly countries: Readonly<Record<string, string | readonly string[]>>
}

type CodeName = readonly [name: string | undefined, code: string]

/** If several codes have the same name, the first code is used. */
function codesOf(names: Iterable<CodeName>): ReadonlyMap<string, string> {
  const codes = new Map<string, string>()
  for (const [name = '', code] of names) {
    const key = nameKey(name)
    if (key !== '' && !codes.has(key)) codes.set(key, code)
  }
  return codes
}

/** Yields the CLDR names of each code in each language. */
function* shownNames(
  codes: readonly (readonly [shown: string, code: string])[],
  style: { readonly type: 'region' | 'language' } & Partial<Intl.DisplayNamesOptions>,
): Generator<CodeName> {
  for (const language of languagesOfNames) {
    const names = new Intl.DisplayNames([language], { ...style, fallback: 'none' })
    for (const [shown, code] of codes) yield [names.of(shown), code]
  }
}

/** Yields every country name and code in CLDR and ISO, paired with the country's two-letter code. */
function* countryNames(): Generator<CodeName> {
  const codes = iso('i18n-iso-countries/codes.json') as readonly (readonly string[])[]
  const regions = codes.map(([two = '']) => [two, two.toLowerCase()] as const)
  for (const [two = '', three] of codes)
    for (const name of [two, three]) yield [name, two.toLowerCase()]
  yield ['xk', 'xk']
  yield* Object.entries(otherCountries)
  yield* shownNames(regions, { type: 'region' })
  yield* shownNames(regions, { type: 'region', style: 'short' })
  for (const language of languagesOfNames.filter((name) => !name.includes('-'))) {
    const { countries: known } = iso(`i18n-iso-countries/langs/${language}.json`) as CountryNames
    for (const [two, called] of Object.entries(known))
      for (const name of [called].flat()) yield [name, two.toLowerCase()]
  }
}

// Language variants with their own names, and the codes that search engines use for them.
const languageKinds: readonly (readonly [string, string])[] = [
  ['zh-Hans', 'zh-CN'],
  ['zh-Hant', 'zh-TW'],
  ...['pt-BR', 'pt-PT', 'en-US', 'en-GB', 'es-419', 'es-ES', 'fr-CA', 'fil'].map(
    (code) => [code, code] as const,
  ),
]

const englishLanguages = new Intl.DisplayNames(['en'], { type: 'language', fallback: 'none' })
const letters = [...'abcdefghijklmnopqrstuvwxyz']

function* languageNames(): Generator<CodeName> {
  const twos = letters.flatMap((one) => letters.map((other) => one + other))
  const codes = twos.filter(
    (code) => Intl.getCanonicalLocales(code)[0] === code && englishLanguages.of(code) !== undefined,
  )
  const kinds = [...codes.map((code) => [code, code] as const), ...languageKinds]
  yield ['tagalog', 'fil']
  yield* shownNames(kinds, { type: 'language', languageDisplay: 'standard' })
  // In dialect style, only variants differ: "American English" instead of "English (United States)".
  yield* shownNames(languageKinds, { type: 'language', languageDisplay: 'dialect' })
}

let countries: ReadonlyMap<string, string> | undefined
let languages: ReadonlyMap<string, string> | undefined

/** Returns undefined for an unknown code or name. */
export function countryCode(text: string): string | undefined {
  countries ??= codesOf(countryNames())
  return countries.get(nameKey(text))
}

/** Accepts outdated codes. Returns undefined for an unknown code or name. */
export function languageCode(text: string): string | undefined {
  const trimmed = text.trim()
  languages ??= codesOf(languageNames())
  const [first = '', ...more] = trimmed.split(/[-_]/)
  const parts = more.every((part) => /^[A-Za-z0-9]{2,8}$/.test(part))
  if (/^[A-Za-z]{2,3}$/.test(first) && parts) {
    const code = Intl.getCanonicalLocales(first)[0] ?? first
    const kept = code === first.toLowerCase() && more.length > 0 ? first : code
    // The thousands of codes without a name never occur in lists.
    if (englishLanguages.of(code) !== undefined) return [kept, ...more].join('-')
  }
  return languages.get(nameKey(trimmed))
}

const words: ReadonlyMap<string, number> = new Map([
  ['daily', 1],
  ['weekly', 7],
  ['monthly', 30],
])

export function checkEvery(given: string): Checked<number | null> {
  const text = given.trim().toLowerCase()
  if (text === '') return good(null)
  const [, count, unit] = /^(\d{1,3})\s*(d|days?|w|weeks?)$/.exec(text) ?? []
  const days = words.get(text) ?? Number(count) * (unit?.startsWith('w') === true ? 7 : 1)
  if (days >= 1 && days <= 366) return good(days)
  return bad('the value of every is not an interval such as "3d", "weekly" or "monthly"')
}

export function checkMaxAge(given: string): Checked<number | null> {
  if (given.trim() === '') return good(null)
  const value = readDuration(given)
  return value === null ? bad('max_age is not a duration such as "12h" or "7d"') : good(value)
}
