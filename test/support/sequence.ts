// In which order files are tried. Those that keep a core busy for minutes come first: begun last, they would end alone.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const first = [
  'credits/messages.test.ts',
  'credits/mutants.test.ts',
  'commands/desk/browser.test.ts',
  'credits/model.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // eslint-disable-next-line unicorn/no-array-sort -- the test runner's own, not that of an array
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const place = first.findIndex((file) => moduleId.endsWith(`/test/${file}`))
  return place === -1 ? first.length : place
}
