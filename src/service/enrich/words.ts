/** Words that carry no subject. */
export const stopWords: ReadonlySet<string> = new Set(
  (
    'a about above after again all also am an and any are as at be because been before being below between both but by ' +
    'can could did do does doing down during each few for from further had has have having he her here hers him his how ' +
    'i if in into is it its itself just let may me might more most must my no nor not of off on once only or other our out ' +
    'over own per same she should so some such than that the their them then there these they this those through to too ' +
    'under until up upon us using use used uses via was we well were what when where which while who whom why will with ' +
    'within without would you your yours one two new get see like make many much even every without including whether ' +
    'supported since chrome edge firefox safari'
  ).split(' '),
)

/** Light stem: one form for the plural and the singular, nothing more. */
export function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 3 && word.endsWith('s') && !/(ss|us|is)$/.test(word)) return word.slice(0, -1)
  return word
}
