// Runs the `keys` command: creates, replaces, revokes and lists keys, changes accounts, and shows usage.

import { text } from 'node:stream/consumers'
import { type Call, print, printJson, say } from '../base/cli/command.ts'
import { wholeFlag, wordFlag } from '../base/cli/flags.ts'
import { readConfig } from '../base/config.ts'
import { type Exit, exits, Misuse, unhandled } from '../base/errors.ts'
import { formatInstant, readDuration } from '../base/time/zone.ts'
import { findDatabase } from './command.ts'
import { isLow, isRevoked, keyKinds, type ListedKey, type NewKey } from './keys.ts'
import { type Keys, openKeys } from './start.ts'

export interface KeysOptions {
  readonly kind: string
  readonly credits?: string
  readonly plan?: string
  readonly account?: string
  readonly rate?: string
  readonly name?: string
  readonly grace?: string
  readonly json?: boolean
}

/** The output of the command: JSON for programs, lines for people, and a hint for stderr. */
interface Shown {
  readonly json: unknown
  readonly lines: readonly string[]
  readonly hint: string | null
}

const actions = ['create', 'rotate', 'revoke', 'list', 'usage', 'top-up', 'plan'] as const

/** Runs one action of the command, and prints its result. */
export async function runKeys({ options, args, env, closers }: Call<KeysOptions>): Promise<Exit> {
  const url = await findDatabase(readConfig(env))
  const keys = closers.add('keys', await openKeys(url), (open) => open.close())
  const { json, lines, hint } = await runAction(keys, args, options)
  if (options.json === true) printJson(json)
  else lines.forEach(print)
  if (hint !== null) say(hint)
  return exits.done
}

async function runAction(
  keys: Keys,
  [word = '', keyOrId]: readonly string[],
  options: KeysOptions,
): Promise<Shown> {
  const action = wordFlag('action', word, actions)
  if (keyOrId !== undefined && action !== 'revoke' && action !== 'rotate') {
    throw new Misuse(`expected nothing after ${action}, got another word; flags begin with --`)
  }
  switch (action) {
    case 'create': {
      const issued = await keys.create(readNewKey(options))
      const hint = 'this key is shown only once: store it now'
      return { json: issued, lines: [issued.key], hint }
    }
    case 'revoke': {
      await revoke(keys, keyOrId)
      const hint = 'the key is revoked, at once and permanently'
      return { json: { revoked: true }, lines: [], hint }
    }
    case 'rotate':
      return await rotate(keys, keyOrId, options.grace)
    case 'top-up':
      return accountShown(
        await keys.topUp({ account: accountOf(options), credits: creditsOf(options) }),
      )
    case 'plan': {
      if (options.plan === undefined) throw new Misuse('expected --plan with its name, got nothing')
      return accountShown(
        await keys.changePlan({ account: accountOf(options), plan: options.plan }),
      )
    }
    case 'list':
      return keysShown(await keys.list())
    case 'usage': {
      const usage = await keys.usage()
      const lines = usage.map(
        ({ day, key_id, kind, tail, requests, failures, credits }) =>
          `${day}\t${key_id}\tsk_${kind}_…${tail}\t${requests} requests\t${failures} failed\t${credits} credits`,
      )
      return { json: { usage }, lines, hint: usage.length === 0 ? 'nothing was used yet' : null }
    }
    default:
      throw unhandled('action', action)
  }
}

async function rotate(keys: Keys, word: string | undefined, grace = '24h'): Promise<Shown> {
  const id = wholeFlag('key', word, Number.MAX_SAFE_INTEGER)
  if (id === undefined) throw new Misuse(noKey)
  const graceMs = readDuration(grace)
  if (graceMs === null) throw new Misuse(`expected --grace like 24h or 7d, got ${grace}`)
  const issued = await keys.rotate({ id, graceMs })
  const hint = `this key is shown only once: store it now; the old one is valid for ${grace} more`
  return { json: issued, lines: [issued.key], hint }
}

function keysShown(list: readonly ListedKey[]): Shown {
  const lines = list.map(
    (one) =>
      `${one.id}\t${one.key}\t${one.name}\taccount ${one.account}\t${one.plan}\t${one.credits} credits${isLow(one) ? ' (low)' : ''}\t${stateOf(one)}`,
  )
  return { json: { keys: list }, lines, hint: list.length === 0 ? 'no key was issued yet' : null }
}

const noKey = 'expected the number of a key, got nothing; keys -- list shows it'

function accountOf({ account }: KeysOptions): number {
  const number = wholeFlag('account', account, Number.MAX_SAFE_INTEGER)
  if (number !== undefined) return number
  throw new Misuse('expected --account with its number, got nothing; keys -- list shows it')
}

function creditsOf({ credits }: KeysOptions): number {
  const number = wholeFlag('credits', credits, 1_000_000_000_000)
  if (number !== undefined) return number
  throw new Misuse('expected --credits with the number to add, got nothing')
}

function accountShown(credits: number): Shown {
  return { json: { credits }, lines: [`${credits} credits`], hint: null }
}

function stateOf(key: ListedKey): string {
  if (isRevoked(key)) return 'revoked'
  return key.revoked_at === null ? 'valid' : `valid until ${formatInstant(key.revoked_at)}`
}

function readNewKey(options: KeysOptions): NewKey {
  refuseOddFlags(options)
  const rate = wholeFlag('rate', options.rate, 1_000_000)
  if (rate === 0) throw new Misuse('expected --rate to be at least 1, got 0')
  return {
    kind: wordFlag('kind', options.kind, keyKinds),
    credits: wholeFlag('credits', options.credits, 1_000_000_000_000),
    account: wholeFlag('account', options.account, Number.MAX_SAFE_INTEGER),
    rate,
    name: options.name,
    plan: options.plan,
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

/** Revokes a key. For `-`, reads the key from stdin, because every user of the machine can see a command line. */
async function revoke(keys: Keys, word: string | undefined): Promise<void> {
  if (word === undefined) {
    throw new Misuse(noKey)
  }
  if (await keys.revoke(word === '-' ? (await text(process.stdin)).trim() : word)) return
  throw new Misuse('expected a key that was issued here, got another; keys -- list shows them')
}
