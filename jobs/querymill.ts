#!/usr/bin/env node
// Entry point of an installed package: `querymill work --drain` corresponds to `npm run work -- --drain` in a checkout.
import { dispatch } from '../src/features/package/querymill.ts'

const ending = import.meta.url.slice(import.meta.url.lastIndexOf('.'))

await dispatch((name) => import(new URL(`${name}${ending}`, import.meta.url).href))
