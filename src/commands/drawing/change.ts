import { html, type Html } from './html.ts'

const points = new Intl.NumberFormat('en', { maximumFractionDigits: 2, signDisplay: 'exceptZero' })

/** How much a share changed, in points of a hundred. */
export function change(share: number): Html {
  return coloured(points.format(share * 100), share)
}

/** What is nought when it is rounded is neither won nor lost. */
function coloured(text: string, value: number): Html {
  const tone = text === '0' ? 'none' : value > 0 ? 'good' : 'bad'
  return html`<span class="${tone}">${text}</span>`
}

/** Clicks won or lost, as an index of the curve. */
export function clicks(value: number): Html {
  return coloured(points.format(value), value)
}
