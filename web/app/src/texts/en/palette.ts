import { plural } from '@/format/number'

export const palette = {
  open: 'Go to…',
  title: 'Go to or do',
  placeholder: 'A page, a job’s number, a schedule, a queue, a job type',
  kinds: {
    page: 'Pages',
    job: 'Jobs',
    schedule: 'Schedules',
    queue: 'Queues',
    type: 'Job types',
    deed: 'Actions',
  },
  job: (id: number) => `Job #${id}`,
  results: (count: number) => plural(count, 'result'),
  searching: 'Searching…',
  nothing:
    'Nothing found. Jobs are found by their number here, and by anything else on their page.',
  utcTimes: 'Show all times in UTC',
  localTimes: 'Show all times in your zone',
}
