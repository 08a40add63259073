import { countText, plural } from '@/format/number'

export const errors = {
  title: 'Errors',
  range: 'Range',
  ranges: {
    hour: 'Last hour',
    day: 'Last 24 hours',
    week: 'Last 7 days',
    month: 'Last 30 days',
  },
  sinceDeployment: 'Since a deployment',
  sinceNewest: 'Since the newest deployment',
  deployment: (module: string, key: string, ago: string) => `${module} ${key} (${ago})`,
  onlyNew: 'Only new ones',
  only: 'Only',
  allTypes: 'All types',
  byType: 'Failures by type',
  moreTypes: (count: number) => `${countText(count)} more`,

  noneNew: 'No new errors in this time',
  noneNewReason:
    'An error is new if it first happened after a deployment: before, the same job type did not fail with the same exception at the same place in your code, as far as this range looks back.',
  none: 'Nothing has failed in this time',
  noneReason:
    'Failed attempts appear here in groups that have one cause: the same job type, the same exception, and the same place in your code. A group can be retried or deleted as a whole.',
  noneHint:
    'Say in the declaration of a job which errors pass by themselves, and its attempts are repeated:',
  incomplete: (count: number) =>
    `There are too many failures to count them all. These are the newest ${countText(count)}; a shorter range shows all of its own.`,

  withoutException: 'Without an exception',
  withoutText: 'It ended without the text of an error.',
  newSince: (key: string) => `new since deployment ${key}`,
  at: 'at',
  failures: 'Failures',
  first: 'First',
  last: 'Last',
  latest: (id: number) => `Latest: job ${id}`,
  open: (id: number) => `Open job ${id}`,
  traceback: 'Traceback',
  noTraceback: "There is no traceback: no exception of the job's code ended this attempt.",
  allRetried: 'All were retried.',
  noneFailedForGood: 'No job has failed for good: each was or will be retried.',

  actions: { retry: 'Retry', delete: 'Delete' },
  actionOn: (action: string, count: number) => `${action} ${plural(count, 'job')}`,
  ask: (action: string, errorClass: string | null) =>
    `${action} what failed with ${errorClass ?? 'this error'}?`,
  counting: 'Counting…',
  nothingLeft: 'There is no job left: all have been retried or deleted since.',
  wouldChange: (action: string, count: number, complete: boolean, type: string) =>
    `${action} ${complete ? plural(count, 'job') : `at least ${countText(count)} jobs`} of type ${type}. A job carries this out and shows its progress; it can be cancelled.`,
  ofOwner: (owner: string) => `of ${owner}`,
  more: (count: number) => `and ${countText(count)} more`,
}
