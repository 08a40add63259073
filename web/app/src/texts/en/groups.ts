import { countText, plural } from '@/format/number'

export const groups = {
  name: 'Group',
  title: (id: number) => `Group #${id}`,
  states: { open: 'open', ended: 'ended', cancelled: 'cancelled' },
  progress: 'Progress',
  allEnded: 'All jobs have ended',
  notEnded: (running: number, total: number) =>
    `${countText(running)} of ${plural(total, 'job')} not ended`,
  details: 'Details',
  members: 'Members',
  outcomes: (finished: number, failed: number, cancelled: number) =>
    `${countText(finished)} finished, ${countText(failed)} failed, ${countText(cancelled)} cancelled`,
  onFailure: 'If one does not finish',
  othersCancelled: 'the others are cancelled',
  othersContinue: 'the others go on',
  then: 'Then',
  job: (id: number) => `job #${id}`,
  owner: 'Owner',
  created: 'Created',
  cancelled: 'Cancelled',
  ended: 'Ended',
  cancelTitle: (id: number) => `Cancel group #${id}?`,
  cancelText: 'All members that have not ended are cancelled, and the job after them does not run.',
  cancelAction: 'Cancel group',
  beingCancelled: (id: number) => `Group ${id} is being cancelled.`,

  startGroup: 'Start a group',
  newTitle: 'Start a group of jobs',
  start: 'Start',
  intro:
    'Jobs of public types that are watched and cancelled together. Parameters are written as JSON.',
  nthJob: (place: number) => `job ${place}`,
  jobAfter: 'the job after them',
  addJob: 'Add a job',
  thenOptional: 'Then, when all have ended (optional)',
  continue: 'The others go on',
  cancel: 'The others are cancelled',
  started: (id: number, total: number) => `Group ${id} started with ${plural(total, 'job')}.`,
  typeOf: (job: string) => `Type of ${job}`,
  jobType: 'Job type',
  parametersOf: (job: string) => `Parameters of ${job}`,
  parametersExample: 'Parameters: {"n": 1}',
  invalidJson: 'The parameters are not valid JSON. Write them as {"name": "value", "count": 3}.',
  notAnObject: 'The parameters are an object with their names, such as {"count": 3}.',
  rounded: (number: string) =>
    `A browser would round ${number}. Start the job from Python or the command line.`,
}
