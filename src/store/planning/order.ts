import type { Origin } from '../answers/answer.ts'

/** A share of a night's credits, from 0 to 1, for the queries of a label. */
export interface TaggedShare {
  readonly tag: string
  readonly share: number
}

/** What a list is to become. */
export interface PlanOrder {
  readonly list: string
  /** Null: as it was. */
  readonly source: string | null
  /** How a person said that the list is read, kept for the next night; undefined: as it was. */
  readonly reading: object | null | undefined
  /** True: the list may have been read from another source before. */
  readonly join: boolean
  readonly kind: 'manual' | 'nightly'
  readonly runDate: string
  /** Most credits that the run may use in all; a night's: from now on. None leaves a run that is joined as it is. */
  readonly budget: number | null | undefined
  readonly maxAgeMs: number
  /** True: a query also rests when its row in the table of cadences says so. */
  readonly adaptive: boolean
  /** The part of a night's credits that the list is given, from 0 to 1, for when money is short; null: lists have no parts. */
  readonly part: number | null
  /** Labels that are given a share of the credits, for when money is short; the first that a query holds is its own. */
  readonly shares: readonly TaggedShare[]
  /** What a call of each class is expected to cost, as far as that is known. */
  readonly prices: readonly { readonly class: string; readonly credits: number }[]
  /** An answer is reused only for the same origin and API. */
  readonly origin: Origin
  readonly api: string
  /** A run to add to, whatever its kind; null: the open manual run of the list, or a new one. */
  readonly into: number | null
  /** Lines of the file that gave queries. */
  readonly usable: number
  /** True when every usable line gave exactly one query. */
  readonly single: boolean
  /** True when no line says more about its query than a priority and a weight. */
  readonly plain: boolean
  /** True when a line says how often its query is asked, or how old its answer may be. */
  readonly wished: boolean
  /** What all queries ask for, as far as prices depend on it; null when they differ. */
  readonly request: { readonly num: number; readonly device: string | null } | null
}

/** What became of a list. */
export interface Planned {
  readonly run: number
  /** True when an open run was added to. */
  readonly joined: boolean
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  /** Queries that the list, or its cadence, lets rest: their last answers stand in. */
  readonly notAsked: number
  /** Of these, queries that are lent the answer of a twin. */
  readonly lent: number
  /** Queries that are to be asked again before their last answer is too old to be used. */
  readonly idleWishes: number
  /** Of the reused, those whose answer cannot be read. */
  readonly unreadable: number
  /** Labels with a share of the credits, and how many of the queries to be bought are theirs. */
  readonly shares: readonly (TaggedShare & { readonly queued: number })[]
  readonly already: number
  /** Of a run that was joined: credits used and set aside, and tasks still to be bought, before anything was added. */
  readonly before: { readonly spent: number; readonly open: number }
  readonly done: boolean
  readonly reasons: readonly { readonly reason: string; readonly lines: number }[]
  /** Tasks to be bought, by the parameters that prices depend on. */
  readonly toBuy: readonly {
    readonly num: number
    readonly device: string | null
    readonly tasks: number
  }[]
}
