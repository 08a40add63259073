import { plural } from '@/format/number'

export const limits = {
  emptyTitle: 'No limits',
  emptyText:
    'A limit by key restricts how often, or how many at a time, jobs with the same key start, across all nodes:',
  limit: 'Limit',
  allowsEachKey: 'Allows, for each key',
  allows: 'Allows',
  heldBack: 'Held back',
  ofKeys: (count: number) => `of ${plural(count, 'key')}`,
  atOnce: (count: string) => `${count} at a time`,
  slidingWindow: 'sliding window',
  burstOf: (count: string) => `burst ${count}`,
  othersDiscarded: 'others are discarded',
  notDeclared: 'no longer declared',
  changedNotice: (name: string) => `Limit ${name} changed.`,
  resetNotice: (name: string) => `Limit ${name} is as it is declared.`,

  changeTitle: (name: string) => `Change ${name}`,
  changeText:
    'The new numbers hold for each key, across all nodes, until they are reset. Running jobs continue.',
  perPeriod: 'Starts per period',
  atATime: 'Jobs at a time',
  rate: 'Rate, such as 10/s or 100/h',
  maximum: 'Maximum',
  sliding: 'Sliding window: never more in any period',
  burst: 'Burst: starts at once after a pause (optional)',
  invalidRate: 'Enter a whole number, a slash and a period: 10/s, 5/30s, 100/h.',
  invalidMaximum: 'Enter a whole number of at least 1.',
}
