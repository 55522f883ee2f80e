/** The four labels that tools of this field use. Spec gap 2.5: the API does not name its own. */
export const intents = ['informational', 'navigational', 'commercial', 'transactional'] as const
export type Intent = (typeof intents)[number]

const site =
  /\b(log ?in|sign ?in|sign ?up|homepage|official (web)?site|website|portal|dashboard|customer service|contact (us|number|form))\b|\bwww\./
// A host alone, or one among words that ask for a place: `what is a .com domain` asks for none.
const hostAlone =
  /^(https?:\/\/)?([\p{L}\p{N}-]+\.)+(com|org|net|io|dev|app|gov|edu|uk|de|fr|eu|info|ai|co)\/?$/u
const question =
  /^(how|what|whats|what's|why|when|where|who|whose|which|can|could|does|do|did|is|are|was|were|should|will|would)\b|\?$/
const buying =
  /\b(buy|purchase|order|price|prices|pricing|cheap|cheapest|discount|coupons?|deals?|sale|for sale|download|subscribe|subscription|free trial|booking|book (a|flights?|hotels?|tickets?)|rent|hire|quote|shipping|delivery|near me|open now|tickets?|flights?|hotels?|voucher|promo code|install)\b/
const choosing =
  /\b(best|top( \d+)?|reviews?|vs|versus|compare|comparison|alternatives?( to)?|rated|ratings?|recommended|worth it|pros and cons|cheaper than|better than|ranking|leading)\b/
const learning =
  /\b(guide|tutorials?|examples?|meaning|definition|define|explained|ideas|tips|learn|course|history|facts|recipes?|symptoms|causes?|diagram|template|cheat ?sheet|reference|documentation|docs|api|syntax|polyfill|support|spec(ification)?)\b/

/** Why somebody types this. The hosts of the results betray a brand that the words do not. */
export function labelIntent(q: string, hosts: readonly string[]): Intent {
  const text = q.toLowerCase().trim()
  if (site.test(text) || hostAlone.test(text)) return 'navigational'
  // "best laptop to buy?" still compares; "how to buy a house" still asks.
  if (question.test(text)) return choosing.test(text) ? 'commercial' : 'informational'
  if (choosing.test(text)) return 'commercial'
  if (buying.test(text)) return 'transactional'
  if (learning.test(text)) return 'informational'
  return isHost(text, hosts[0]) ? 'navigational' : 'informational'
}

/** True when the first host is named like the query: `git hub` and github.com. */
function isHost(text: string, host: string | undefined): boolean {
  const squashed = text.replace(/[^\p{L}\p{N}]+/gu, '')
  if (host === undefined || squashed.length < 3) return false
  const name =
    host
      .replace(/^www\./, '')
      .split('.')[0]
      ?.replaceAll('-', '') ?? ''
  return name === squashed || (squashed.length >= 5 && name.startsWith(squashed))
}
