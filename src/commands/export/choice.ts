import { Misuse } from '../../shared/errors.ts'
import type { Database } from '../../store/database.ts'
import type { Inquiry } from '../../store/analysis/ask.ts'
import { findRelation, selectRows } from '../../store/analysis/export.ts'
import { findQuestion, readFlags } from '../../store/analysis/library.ts'
import { readSlice, sliceFlags, spanFlags } from '../../store/analysis/slice.ts'

/** What is to be exported, as it was typed. */
interface TypedChoice {
  readonly question: string | undefined
  readonly where: string | undefined
  readonly args: readonly string[]
}

/** What is exported, and what it is called. */
type Exported = Pick<Inquiry, 'text' | 'values' | 'day' | 'slice'> & { readonly name: string }

/** Finds what was typed; what can be refused without the tables is refused before they are opened. */
export function readChoice({
  question,
  where,
  args,
}: TypedChoice): (db: Database) => Promise<Exported> {
  if (question !== undefined) {
    if (where !== undefined) {
      throw new Misuse(
        'expected --where beside the name of a table or view, got it beside --question; put the condition into the SQL',
      )
    }
    const found = { ...findQuestion(question, args), name: nameOf(question) }
    return () => Promise.resolve(found)
  }
  const [relation = '', ...flags] = args
  if (relation.startsWith('-')) {
    throw new Misuse(
      `expected the name of a table or view, and its flags behind it, got ${relation}; npm run export -- --help lists all flags`,
    )
  }
  const given = readFlags(flags)
  const known: readonly string[] = [...sliceFlags, ...spanFlags]
  const other = [...given.keys()].find((flag) => !known.includes(flag))
  if (other !== undefined) {
    throw new Misuse(
      `expected --where, ${known.map((flag) => `--${flag}`).join(', ')} behind ${relation}, got --${other}; npm run export -- --help lists all flags`,
    )
  }
  const slice = { ...readSlice(given), everyDay: true }
  return async (db) => {
    const name = await findRelation(db, relation)
    const { since, until } = slice
    return { ...(await selectRows(db, name, { since, until, where })), slice, name }
  }
}

function nameOf(question: string): string {
  return /\s/.test(question.trim()) ? 'the answer' : question
}
