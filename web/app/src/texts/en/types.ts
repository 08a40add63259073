import { countText } from '@/format/number'

export const types = {
  type: 'Type',
  last: (range: string) => `Last ${range}`,
  course: 'Course',
  perMinute: 'Per min',
  failed: 'Failed',
  share: 'Share',
  waitP50: 'Wait p50',
  waitP95: 'Wait p95',
  runP50: 'Run p50',
  runP95: 'Run p95',
  nameContains: 'Types whose names contain',
  name: 'Name',
  compareWithBefore: 'Compare with before',
  noDeployment: 'no deployment',
  none: 'No job types yet',
  noneReason: 'A job type appears here when a program declares it, or with its first job.',
  noMatch: 'No type matches.',
  ended: (range: string, count: number) => `Ended in the last ${range}: ${countText(count)}`,
  before: 'before:',
  verdicts: {
    worse: 'worse than before:',
    better: 'better than before:',
    same: 'about as before:',
  },
  explained:
    'Wait is from due to started, run from started to ended; half of the jobs took at most p50, 95 % at most p95. They are estimated from a histogram, and off by a fifth at most.',
  comparedAt: (moment: string) =>
    `The first values are from ${moment} on, the second ones from as long before it.`,
  incomplete: 'Only the 100 busiest types have figures.',
  jobs: 'Jobs',
  errors: 'Errors',
}
