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

function withoutMarkup(text: string): string {
  return text
    .replace(/<[^>]*>/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
