// withCommands(readme) → the README with its table of commands as the list of commands has it.
import { commands, groups } from '../../src/base/cli/commands.ts'

const place = /(<!-- commands -->\n).*?(<!-- \/commands -->)/s

/** The text with the table between its two markers. */
export function withCommands(readme: string): string {
  if (!place.test(readme))
    throw new Error('expected the markers of the table of commands, got none')
  return readme.replace(
    place,
    (_, start: string, end: string) => `${start}${tableOfCommands()}\n${end}`,
  )
}

/** Each command of every day has a line of its own, the others one for each purpose. */
function tableOfCommands(): string {
  const [everyday = [], ...others] = Object.values(groups).map((group) => Object.keys(group))
  return [
    '| command | does |',
    '|---|---|',
    ...[...everyday.map((name) => [name]), ...others].map(rowOf),
  ].join('\n')
}

function rowOf(names: readonly string[]): string {
  const typed = names.map((name) => `\`${name}\``).join(', ')
  return `| ${typed} | ${names.map(sentenceOf).join(' · ')} |`
}

function sentenceOf(name: string): string {
  const { about = '', page } = commands.get(name) ?? {}
  const said = about.replaceAll(/--[a-z-]+/g, '`$&`')
  return page === undefined ? said : `${said} ([docs](${page}))`
}
