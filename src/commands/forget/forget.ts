import { readConfig } from '../../shared/config.ts'
import { exits, Misuse, type Exit } from '../../shared/errors.ts'
import { print, printJson, say, type Call } from '../../shared/terminal/command.ts'
import { formatTable } from '../../shared/terminal/table.ts'
import { count } from '../../shared/terminal/wording.ts'
import type { Database } from '../../store/database.ts'
import { awayDaysOf } from '../../store/forgetting/away.ts'
import { countDays } from '../../store/forgetting/days.ts'
import {
  aloneForgetting,
  countSubject,
  finishForgetting,
  forgetSubject,
  sealList,
  type Forgettable,
} from '../../store/forgetting/forget.ts'
import type { Gone } from '../../store/forgetting/gone.ts'
import { domainPattern, wordPattern } from '../../store/forgetting/naming.ts'
import {
  countLeft,
  inTheWayOfList,
  inTheWayOfQueries,
  staysOfDomain,
  staysOfList,
  type Stays,
} from '../../store/forgetting/standing.ts'
import { openMill } from '../mill/mill.ts'
import { awayObstacle, notesOf, obstacleOf } from './notes.ts'
import {
  checkFlags,
  findSubject,
  refuseUnknown,
  type TypedSubject,
  type FoundSubject,
} from './subject.ts'

/** What can be typed after `npm run forget --`. */
export interface ForgetFlags extends TypedSubject {
  readonly yes?: true
  readonly json?: true
}

/** Forgets a list, a query or a domain, or says first what that would take away. */
export async function runForget({ options, env, closers }: Call<ForgetFlags>): Promise<Exit> {
  checkFlags(options)
  const { db } = await openMill({ config: readConfig(env), closers, say, name: 'forget' })
  if (options.yes !== true) return preview(db, options)
  const ended = await aloneForgetting(db, () => forget(db, options))
  if (ended !== null) return ended
  throw new Misuse(
    'expected to be the only one that forgets, got another forget at work; let it end',
  )
}

async function preview(db: Database, flags: ForgetFlags): Promise<Exit> {
  const left = await countLeft(db)
  if (left.queries + left.words > 0) {
    say('an earlier forget broke off; whatever is typed with --yes first goes on with it')
  }
  const found = (await findSubject(db, flags)) ?? (await refuseUnknown(db, flags))
  const obstacle = await obstacleTo(db, found.subject)
  const gone = await countSubject(db, found.subject)
  const notes = notesOf(found.subject, await staysOf(db, found.subject), await countDays(db))
  if (flags.json === true) {
    printJson({ ...named(found), dry_run: true, obstacle, tables: filled(gone), notes })
    return exits.done
  }
  print(`${found.said}: nothing is changed yet. Rows that would go, or be emptied, at most:`)
  tellQueries(found)
  showTables(gone)
  for (const note of notes) print(`- ${note}`)
  say(obstacle ?? 'type the same with --yes to do it; nothing brings it back but a backup')
  return exits.done
}

async function forget(db: Database, flags: ForgetFlags): Promise<Exit> {
  const resumed = await finishLeft(db)
  const found = await findSubject(db, flags)
  if (found === null) {
    if (!resumed) return refuseUnknown(db, flags)
    say('nothing else of that name is there')
    return exits.done
  }
  const obstacle = await obstacleTo(db, found.subject)
  if (obstacle !== null) throw new Misuse(obstacle)
  const gone = await forgetSubject(db, found.subject, teller())
  if (found.subject.kind === 'list' && !(await sealList(db, found.subject.list))) {
    throw new Misuse(
      `expected ${found.said} to stay as it was meanwhile, got one that was read again; type the same again`,
    )
  }
  if (flags.json === true) printJson({ ...named(found), dry_run: false, tables: filled(gone) })
  else showTables(gone)
  say(`${found.said} is forgotten; npm run verify proves that the books are whole`)
  return exits.done
}

/** Goes on with what broke off; true when there was anything. */
async function finishLeft(db: Database): Promise<boolean> {
  const left = await countLeft(db)
  if (left.queries + left.words === 0) return false
  say('goes on with an earlier forget that broke off')
  await finishForgetting(db, teller())
  return true
}

async function obstacleTo(db: Database, subject: Forgettable): Promise<string | null> {
  const away = awayObstacle(await awayDaysOf(db, subject))
  if (away !== null || subject.kind === 'domain') return away
  const way =
    subject.kind === 'list'
      ? await inTheWayOfList(db, subject.list)
      : await inTheWayOfQueries(db, subject.ids)
  return obstacleOf(subject, way)
}

async function staysOf(db: Database, subject: Forgettable): Promise<Stays> {
  if (subject.kind === 'list') {
    return staysOfList(db, subject.list, wordPattern([subject.list.name]))
  }
  if (subject.kind === 'domain') return staysOfDomain(db, domainPattern(subject.name))
  return { shared: 0, namesakes: [] }
}

/** Says now and then how far it is. */
function teller(): (gone: Gone) => void {
  let told = Date.now()
  return (gone) => {
    if (Date.now() - told < 5_000) return
    told = Date.now()
    say(`${count(gone['searches'] ?? 0, 'answer')} so far`)
  }
}

function named({ subject, said }: FoundSubject) {
  return { kind: subject.kind, subject: said }
}

function filled(gone: Gone): Gone {
  return Object.fromEntries(Object.entries(gone).filter(([, rows]) => rows > 0))
}

function tellQueries({ queries }: FoundSubject): void {
  for (const { q, location, hl, gl, num, device } of queries) {
    const said = { place: location, language: hl, country: gl, num, device }
    const parts = Object.entries(said).flatMap(([name, value]) =>
      value === null ? [] : [`${name} ${value}`],
    )
    print(`  ${JSON.stringify(q)}, ${parts.join(', ')}`)
  }
}

function showTables(gone: Gone): void {
  const rows = Object.entries(filled(gone)).toSorted(([one], [other]) => one.localeCompare(other))
  if (rows.length === 0) print('nothing')
  else print(formatTable(['table', 'rows'], rows, { right: ['rows'] }))
}
