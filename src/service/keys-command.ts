// Runs the `keys` command: creates, revokes and lists keys, and shows their usage.

import { text } from 'node:stream/consumers'
import { type Call, print, printJson, say } from '../base/cli/command.ts'
import { wholeFlag, wordFlag } from '../base/cli/flags.ts'
import { readConfig } from '../base/config.ts'
import { type Exit, exits, Misuse, unhandled } from '../base/errors.ts'
import { findDatabase } from './command.ts'
import { keyKinds } from './keys.ts'
import { type Keys, openKeys } from './start.ts'

export interface KeysOptions {
  readonly kind: string
  readonly credits?: string
  readonly plan?: string
  readonly account?: string
  readonly rate?: string
  readonly name?: string
  readonly json?: boolean
}

/** The output of the command: JSON for programs, lines for people, and a hint for stderr. */
interface Shown {
  readonly json: unknown
  readonly lines: readonly string[]
  readonly hint: string | null
}

const actions = ['create', 'revoke', 'list', 'usage'] as const

/** Runs one action of the command, and prints its result. */
export async function runKeys({ options, args, env, closers }: Call<KeysOptions>): Promise<Exit> {
  const url = await findDatabase(readConfig(env))
  const keys = closers.add('keys', await openKeys(url), (open) => open.close())
  const { json, lines, hint } = await runAction(keys, await withoutDash(args), options)
  if (options.json === true) printJson(json)
  else lines.forEach(print)
  if (hint !== null) say(hint)
  return exits.done
}

async function runAction(
  keys: Keys,
  args: readonly string[],
  options: KeysOptions,
): Promise<Shown> {
  const action = wordFlag('action', args[0] ?? '', actions)
  if (args[1] !== undefined && action !== 'revoke') {
    throw new Misuse(`expected nothing after ${action}, got another word; flags begin with --`)
  }
  switch (action) {
    case 'create':
      return await showCreated(keys, options)
    case 'revoke':
      return await showRevoked(keys, args[1])
    case 'list':
      return await showList(keys)
    case 'usage':
      return await showUsage(keys)
    default:
      throw unhandled('action', action)
  }
}

/** Refuses flags that contradict each other, rather than ignoring one silently. */
function refuseOddFlags(options: KeysOptions): void {
  if (options.plan !== undefined && options.credits !== undefined) {
    throw new Misuse('expected --plan or --credits, got both; a plan brings credits of its own')
  }
  const own = (['plan', 'credits', 'rate'] as const).find((name) => options[name] !== undefined)
  if (own === undefined) return
  if (options.account !== undefined) {
    throw new Misuse(
      `expected --account or --${own}, got both; a second key shares the plan and limits of its account`,
    )
  }
  if (options.kind !== 'test') return
  throw new Misuse(
    `expected --kind live with --${own}, got a test key, which spends nothing; add --kind live or leave --${own} out`,
  )
}

async function showCreated(keys: Keys, options: KeysOptions): Promise<Shown> {
  refuseOddFlags(options)
  const credits = wholeFlag('credits', options.credits, 1_000_000_000_000)
  const account = wholeFlag('account', options.account, Number.MAX_SAFE_INTEGER)
  const rate = wholeFlag('rate', options.rate, 1_000_000)
  if (rate === 0) throw new Misuse('expected --rate to be at least 1, got 0')
  const issued = await keys.create({
    kind: wordFlag('kind', options.kind, keyKinds),
    credits,
    account,
    rate,
    name: options.name,
    plan: options.plan,
  })
  return { json: issued, lines: [issued.key], hint: 'this key is shown only once: store it now' }
}

/** Reads the key from stdin for `-`, because every user of the machine can see a command line. */
async function withoutDash(args: readonly string[]): Promise<string[]> {
  if (args[1] !== '-') return [...args]
  const typed = await text(process.stdin)
  return [args[0] ?? '', typed.trim()]
}

async function showRevoked(keys: Keys, keyOrId: string | undefined): Promise<Shown> {
  if (keyOrId === undefined)
    throw new Misuse('expected the number of a key or its last characters (…abcd), got nothing')
  if (!(await keys.revoke(keyOrId))) {
    throw new Misuse('expected a key that was issued here, got another; keys -- list shows them')
  }
  return { json: { revoked: true }, lines: [], hint: 'the key is revoked, at once and permanently' }
}

async function showList(keys: Keys): Promise<Shown> {
  const list = await keys.list()
  const lines = list.map(
    ({ id, key, name, account, plan, credits, revoked_at }) =>
      `${id}\t${key}\t${name}\taccount ${account}\t${plan}\t${credits} credits\t${revoked_at === null ? 'valid' : 'revoked'}`,
  )
  return { json: { keys: list }, lines, hint: list.length === 0 ? 'no key was issued yet' : null }
}

async function showUsage(keys: Keys): Promise<Shown> {
  const usage = await keys.usage()
  const lines = usage.map(
    ({ day, key_id, kind, tail, requests, failures, credits }) =>
      `${day}\t${key_id}\tsk_${kind}_…${tail}\t${requests} requests\t${failures} failed\t${credits} credits`,
  )
  return { json: { usage }, lines, hint: usage.length === 0 ? 'nothing was used yet' : null }
}
