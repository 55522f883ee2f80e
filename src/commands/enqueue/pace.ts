import type { Source } from '../../lists/source.ts'

/** How fast a list is read, and what is left of it. */
export interface Pace {
  readonly seconds: number
  /** Share of the file that was read; null where its size is unknown. */
  readonly share: number | null
}

/** Measures how fast a source is read from now on. */
export function paceOf({ size, taken }: Pick<Source, 'size' | 'taken'>): () => Pace {
  const started = performance.now()
  return () => ({
    seconds: (performance.now() - started) / 1000,
    share: size === null || size === 0 ? null : Math.min(taken() / size, 1),
  })
}

/** Lines a second and the time that is left, as far as they can be told. */
export function paceNote(lines: number, { seconds, share }: Pace): string {
  if (seconds < 0.5) return ''
  const rate = `, ${Math.round(lines / seconds)} a second`
  if (share === null || share < 0.01) return rate
  const left = Math.ceil((seconds / share) * (1 - share))
  return `${rate}, ${Math.round(share * 100)} % read, about ${left} s left`
}
