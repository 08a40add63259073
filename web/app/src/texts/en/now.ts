import { countText, plural } from '@/format/number'

export const now = {
  wrong: (wrong: number, notable: number) =>
    `${plural(wrong, 'thing')} ${wrong === 1 ? 'is' : 'are'} wrong` +
    (notable > 0 ? `, and ${countText(notable)} more ${deserves(notable)} a look` : ''),
  notable: (count: number) =>
    `Nothing is wrong; ${plural(count, 'thing')} ${deserves(count)} a look`,
  well: 'All well',
  unknown: 'Status unknown',
  noNode: 'Nothing is wrong, but no node runs',
  nothingFound: 'All nodes respond, jobs are being processed, and no job type fails often.',
  problems: 'Problems',
  levels: { problem: 'Wrong', warning: 'Note' },
  since: 'since',
  lasting: (duration: string) => `for ${duration}`,
  about: {
    everything: () => 'Everything',
    queue: (name: string) => `Queue ${name}`,
    schedule: (name: string) => `Schedule ${name}`,
    type: (name: string) => `Job type ${name}`,
    node: (name: string) => `Node ${name}`,
    limit: (name: string) => `Limit ${name}`,
  },

  pause: 'Pause',
  resume: 'Resume',
  pauseTitle: (what: string) => `${what}: pause?`,
  pauseText: 'Nothing more of it starts until it is resumed. Running jobs continue.',
  paused: (what: string) => `${what}: paused.`,
  resumed: (what: string) => `${what}: resumed.`,

  busiestQueues: 'Queues',
  noQueues: 'No queue has work.',
  queueLine: (waiting: number, later: number, running: number) =>
    `${countText(waiting)} waiting` +
    (later > 0 ? `, ${countText(later)} due later` : '') +
    `, ${countText(running)} running`,
  longestWait: (duration: string) => `, longest wait ${duration}`,
  queuePaused: 'Paused',

  tiles: {
    waiting: 'Waiting',
    running: 'Running',
    finished: 'Finished',
    failed: 'Failed',
    startDelay: 'Median start delay',
    nodes: 'Nodes',
    slotsInUse: (used: number, all: number) =>
      `${countText(used)} of ${countText(all)} slots in use`,
    inTheLastHour: 'in the last hour',
    p99: (duration: string) => `p99: ${duration}`,
    dead: (count: number) => `${countText(count)} dead`,
    allAlive: 'all alive',
    heldBack: 'due later or paused',
    nothingToStart: 'nothing to start',
    readyToStart: (count: number) => `${countText(count)} ready to start`,
    aboutWork: (duration: string) => `about ${duration} of work`,
    heldBackToo: (work: string, count: number) =>
      `${work}, ${countText(count)} due later or paused`,
  },

  firstTitle: 'No jobs yet',
  firstText: 'A job is one run of a function. Declare one, start it, and it appears here:',
  firstNode: 'A node runs it: start one with',
  firstSchedules: (cron: string, every: string) =>
    `Functions decorated with ${cron} or ${every} are started by their schedule.`,

  dayTitle: 'The last 24 hours',
  dayDescribed:
    'Jobs that ended and waited in the last 24 hours; the list and the table below say the same',
  dayFinished: 'Finished',
  dayFailed: 'Failed',
  dayDepth: 'Waiting',
  marks: 'What happened',
  noMarks: 'No deployment, pause or death of a node.',
  moreMarks: (count: number) => `${countText(count)} more`,
  perMinute: 'per minute',
  markKinds: {
    deployment: 'Deployed',
    pause: 'Paused',
    resume: 'Resumed',
    death: 'Node died',
  },
}

function deserves(count: number): string {
  return count === 1 ? 'deserves' : 'deserve'
}
