import { html, type Html } from '../../../report/html.ts'

const points = new Intl.NumberFormat('en', { maximumFractionDigits: 2, signDisplay: 'exceptZero' })

/** How much a share changed, in points of a hundred. */
export function change(share: number): Html {
  const text = points.format(share * 100)
  if (text === '0') return html`<span class="none">0</span>`
  return html`<span class="${share > 0 ? 'good' : 'bad'}">${text}</span>`
}

/** Clicks won or lost, as an index of the curve. */
export function clicks(value: number): Html {
  return html`<span class="${value > 0 ? 'good' : value < 0 ? 'bad' : 'none'}"
    >${points.format(value)}</span
  >`
}
