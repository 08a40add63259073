import { countText, plural } from '@/format/number'

export const common = {
  actions: 'Actions',
  back: 'Back',
  cancel: 'Cancel',
  change: 'Change',
  changed: 'changed',
  close: 'Close',
  columns: 'Columns',
  dismiss: 'Dismiss',
  found: (count: number) => `${countText(count)} shown`,
  filters: (active: number) => (active === 0 ? 'Filters' : `Filters (${countText(active)})`),
  loading: 'Loading…',
  none: 'none',
  remove: (what: string) => `Remove ${what}`,
  reset: 'Reset',
  since: 'Since',
  tryAgain: 'Try again',
  jobs: (count: number) => plural(count, 'job'),

  noteForOthers: 'Note for other users',

  copy: 'Copy',
  copyWhat: (what: string) => `Copy ${what}`,
  copied: 'Copied.',
  copyingBlocked: 'The browser blocked copying. Select the text and copy it instead.',
  showAll: (characters: number) => `Show all ${countText(characters)} characters`,
  showLess: 'Show less',

  stale: 'The data shown may be out of date.',
  notFound: (what: string) => `${what}: not found`,
  notFoundReason: 'It does not exist, or this version of the server does not support it.',
  accessDenied: (what: string) => `${what}: access denied`,
  accessDeniedReason: 'Your role does not allow this. Ask the administrator for another role.',
  noResponse: 'The server does not respond',
}
