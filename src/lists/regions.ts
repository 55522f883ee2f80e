const languagesOfNames = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt',
  'nl',
  'pl',
  'ru',
  'tr',
  'ja',
  'ko',
  'zh',
]

const otherCountries: Readonly<Record<string, string>> = {
  usa: 'us',
  uk: 'gb',
  'united states of america': 'us',
  'great britain': 'gb',
  england: 'gb',
  uae: 'ae',
  holland: 'nl',
  'south korea': 'kr',
  'czech republic': 'cz',
  'hong kong': 'hk',
  'viet nam': 'vn',
  'russian federation': 'ru',
}

const letters = [...'abcdefghijklmnopqrstuvwxyz']

/** The codes and names of one kind, each name in lower case with its code. */
function codesByName(type: 'region' | 'language'): Map<string, string> {
  const names = new Map<string, string>()
  for (const language of languagesOfNames) {
    const shown = new Intl.DisplayNames([language], { type, fallback: 'none' })
    for (const one of letters) {
      for (const other of letters) {
        const code = one + other
        const name = shown.of(type === 'region' ? code.toUpperCase() : code)
        if (name === undefined || isUnassigned(code, type)) continue
        names.set(code, code)
        if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), code)
      }
    }
  }
  return names
}

// Codes that were given up, or stand for no country: the unknown one, those of tests and of unions.
function isUnassigned(code: string, type: 'region' | 'language'): boolean {
  const tag = type === 'region' ? `und-${code.toUpperCase()}` : code
  const none = type === 'region' && ['zz', 'xa', 'xb', 'eu', 'un', 'ez', 'qo'].includes(code)
  return none || Intl.getCanonicalLocales(tag)[0] !== tag
}

let countries: Map<string, string> | undefined
let languages: Map<string, string> | undefined

/** The code of a country that a tool names by its code or its name; undefined for what is none. */
export function countryCode(text: string): string | undefined {
  const name = text.trim().toLowerCase()
  countries ??= new Map([...codesByName('region'), ...Object.entries(otherCountries)])
  return countries.get(name)
}

/** The code of a language that a tool names by its code or its name; undefined for what is none. */
export function languageCode(text: string): string | undefined {
  const name = text.trim().toLowerCase()
  languages ??= codesByName('language')
  const known = languages.get(name)
  if (known !== undefined) return known
  const [code = '', ...more] = text.trim().split(/[-_]/)
  const isCode = languages.get(code.toLowerCase()) === code.toLowerCase()
  const parts = more.length > 0 && more.every((part) => /^[A-Za-z0-9]{2,8}$/.test(part))
  return isCode && parts ? [code, ...more].join('-') : undefined
}
