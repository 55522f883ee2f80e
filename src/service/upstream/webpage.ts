/** A result of the web, made fit for the answer. */
export interface WebPage {
  /** Equal for addresses that differ in scheme, fragment and tracking only. */
  readonly key: string
  readonly title: string
  readonly url: string
  readonly snippet: string
  readonly domain: string
}

interface Given {
  readonly url?: string | null | undefined
  readonly title?: string | null | undefined
  readonly content?: string | null | undefined
}

const longestText = 20_000
const tracking = /^(utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|igshid)$/i

/** Null for a result that is no page: images and maps come without an address, or with one that is not of the web. */
export function plainPage({ url, title, content }: Given): WebPage | null {
  if (url === null || url === undefined || !URL.canParse(url)) return null
  const address = new URL(url)
  if (address.protocol !== 'http:' && address.protocol !== 'https:') return null
  const domain = address.hostname
  return {
    key: keyOf(address),
    title: withoutMarkup(title ?? '') || domain,
    url: address.href,
    snippet: withoutMarkup(content ?? ''),
    domain,
  }
}

function keyOf(address: URL): string {
  const url = new URL(address)
  for (const name of [...url.searchParams.keys()]) {
    if (tracking.test(name)) url.searchParams.delete(name)
  }
  url.hash = ''
  return url.href.slice(url.protocol.length)
}

/** Marks in pairs, as engines set them around what was found. Anything else in angle brackets is the text itself. */
function withoutMarkup(text: string): string {
  return text
    .slice(0, longestText)
    .replace(/<(b|i|em|strong|mark|span)(?: [^<>]{0,200})?>([^<]*)<\/\1>/gi, '$2')
    .replace(/\s+/g, ' ')
    .trim()
}
