// asksOf(page) → every question on a docs page; withAnswers(page, answers) → the page with their answers.

interface Ask {
  /** A question from the library, or SQL. */
  readonly typed: string
  readonly flags: readonly string[]
}

// A command and its output, or a statement and its output.
const blocks =
  /(?<head>```console\n\$ npm run sql -- (?<line>[^\n]*)\n|```sql\n(?<statement>[^`]*)```\n\n```text\n)[^`]*```/g

/** The questions on a page, in order. */
export function asksOf(page: string): readonly Ask[] {
  return [...page.matchAll(blocks)].map(({ groups }) =>
    groups?.['line'] === undefined
      ? { typed: groups?.['statement'] ?? '', flags: [] }
      : readLine(groups['line']),
  )
}

/** The page with the answers, one for each question. */
export function withAnswers(page: string, answers: readonly string[]): string {
  let next = 0
  return page.replace(blocks, (_, head: string) => `${head}${answers[next++] ?? ''}\n\`\`\``)
}

/** Splits text into words like a shell. */
function readLine(line: string): Ask {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? '',
  )
  return { typed: words[0] ?? '', flags: words.slice(1) }
}
