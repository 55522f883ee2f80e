// Finds names that were meant as settings and are none: a misspelt floor would leave the default in force without a word.
import { settings } from './settings.ts'

/** Where a value came from: what stands further left wins. */
export type SettingSource = 'flag' | 'environment' | '.env' | 'default'

export type Layer = Readonly<Record<string, string | undefined>>

export type Layers = readonly (readonly [SettingSource, Layer])[]

const names = Object.keys(settings)

/** Only querymill has settings that begin so. */
const ownPrefix = /^(?:QUERY)?MILL_|^SEARCH_API_/

/** AWS has more settings than are read here, one letter apart from each other. */
const ofAws = /^AWS_/

/** Other programs have settings of these names too, and in the environment of nearly these. */
const alsoOfOthers = /^(?:DATABASE_URL|REDIS_URL|SEARXNG_URL|UPSTREAM)$/

const places: Readonly<Record<SettingSource, string>> = {
  flag: 'among the settings of the program',
  environment: 'in the environment',
  '.env': 'in .env',
  default: 'among the defaults',
}

/** One problem for each name that is unknown, with the setting that was probably meant. */
export function unknownSettings(layers: Layers): string[] {
  return layers.flatMap(([source, layer]) =>
    Object.keys(layer).flatMap((name) => {
      if (Object.hasOwn(settings, name) || !isSet(layer, name)) return []
      if (source === '.env' && !/^[\w.-]+$/.test(name)) return brokenLine(name)
      if (!isMeantAsSetting(name, source, layers)) return []
      const suggestion = suggest(name)
      const advice =
        suggestion === undefined ? '.env.example names them all' : `did you mean ${suggestion}?`
      return `${name}: expected the name of a setting, got an unknown one ${places[source]}; ${advice}`
    }),
  )
}

function isSet(layer: Layer, name: string): boolean {
  return (layer[name]?.trim() ?? '') !== ''
}

function isMeantAsSetting(name: string, source: SettingSource, layers: Layers): boolean {
  if (source === 'flag') return true
  const plain = plainName(name)
  if (ownPrefix.test(plain)) return source !== 'environment' || !isServiceLink(name, layers)
  return names.some((setting) => {
    if (ofAws.test(setting) || (source === 'environment' && alsoOfOthers.test(setting))) {
      return false
    }
    // Beside the setting itself it belongs to somebody else.
    const given = layers.some(([from, layer]) => from !== 'default' && isSet(layer, setting))
    return !given && distance(plain, setting) <= 1
  })
}

/** Kubernetes tells pods of the services beside them: `search-api` is in their environment as SEARCH_API_PORT and the like. */
function isServiceLink(name: string, layers: Layers): boolean {
  const service = /^(\w+?)_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_\w+)?)$/.exec(
    name,
  )?.[1]
  return (
    service !== undefined &&
    layers.some(([, layer]) => layer[`${service}_SERVICE_HOST`] !== undefined)
  )
}

/** A line without "=" that names a setting: its value would be lost. */
function brokenLine(name: string): string[] {
  const words = name
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .flatMap((line) => line.match(/[\w-]+/g) ?? [])
  // Only the name is shown: what stands behind it may be a key.
  const found = words.find((word) => {
    const plain = plainName(word)
    return ownPrefix.test(plain) || names.includes(plain)
  })
  if (found === undefined) return []
  return [
    `${found}: expected NAME=value on a line of its own in .env, got another text there, or on the line before`,
  ]
}

function suggest(name: string): string | undefined {
  const plain = plainName(name).replace(/^QUERYMILL_/, 'MILL_')
  return names
    .map((setting) => ({ setting, away: distance(plain, setting) }))
    .toSorted((a, b) => a.away - b.away)
    .find(({ setting, away }) => away <= plain.length / 5 || sharesWords(plain, setting))?.setting
}

/** MILL_FLOOR and MILL_WEBHOOK_URL: a word too few or too many. */
function sharesWords(plain: string, setting: string): boolean {
  const [typed, known] = [wordsOf(plain), wordsOf(setting)]
  const within = (some: readonly string[], all: readonly string[]) =>
    some.length > 0 && some.every((word) => all.includes(word))
  return within(typed, known) || within(known, typed)
}

function wordsOf(name: string): string[] {
  return name.split('_').filter((word) => word !== '' && word !== 'MILL')
}

function plainName(name: string): string {
  return name.trim().toUpperCase().replaceAll('-', '_')
}

/** How many letters have to be added, left out, replaced, or swapped with the next one. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (row[j - 1] ?? 0) + 1,
        (above[j] ?? 0) + 1,
        (above[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      )
    }
    before = above
    above = row
  }
  return above[b.length] ?? 0
}
