import { plural, rateText } from '@/format/number'
import type { EnglishSentences, SentenceValues } from '../sentenceTexts'

/** The sentences of the server, by their codes. */
export const sentences: EnglishSentences = {
  job_cancelled: (v) => `It was cancelled${by(v)}.`,
  job_cancelled_stopping: (v) => `It was cancelled${by(v)}, and its body has not stopped yet.`,
  job_deleted: () => 'It was deleted.',
  job_ended_stopping: (v) => `It has ${v.text('state')}, and its body has not stopped yet.`,
  job_expired: () => 'It has expired, and a node is about to fail it.',
  job_failed: (v) => (v.has('why') ? `It failed: ${v.text('why')}` : 'It failed.'),
  job_finished: () => 'It finished.',
  job_held_by_limit: (v) =>
    `Limit “${v.text('limit')}” (${v.text('numbers')}) holds it back` +
    `${v.has('key') ? ` for key “${v.text('key')}”` : ''}, until ${v.text('until')}.`,
  job_in_full_queue: (v) =>
    `Queue “${v.text('queue')}” runs ${plural(v.number('limit'), 'job')} at a time, as many as it may` +
    `${v.has('ahead') ? `, and ${ahead(v)}` : ''}.`,
  job_limits_elsewhere: (v) =>
    `It cannot start: its limits hold only on Horae's nodes, and queue “${v.text('queue')}” has the backend “${v.text('backend')}”.`,
  job_needs_node: () => 'It cannot start: no node runs jobs.',
  job_needs_queue_served: () =>
    'It cannot start: no node that runs and knows its type serves its queue.',
  job_needs_type_known: () => 'It cannot start: no node that runs knows its type.',
  job_next: () => 'A node with a free slot takes it next.',
  job_next_attempt: (v) => `Its next attempt is due at ${v.moment('at')}.`,
  job_planned: (v) => `It is due at ${v.moment('at')}.`,
  job_queue_paused: (v) => `Queue “${v.text('queue')}” is paused.`,
  job_runs: (v) => `It runs, at ${progress(v)}.`,
  job_sent: (v) =>
    `A message about it was sent ${v.length('seconds')} ago, and no worker that knows its type has claimed it yet.`,
  job_stopping: (v) => `It is being cancelled: its body was told to stop, at ${progress(v)}.`,
  job_unfiled: () => 'No node has looked at its limits yet.',
  job_unsent: (v) =>
    `No message about it was sent yet: queue “${v.text('queue')}” has the backend “${v.text('backend')}”.`,
  job_waits_for_group: (v) =>
    `It waits for the members of group ${v.text('group')} to end` +
    `${v.has('creating') ? ', of which more are being created' : ''}.`,
  job_waits_for_jobs: (v) =>
    `It waits for other jobs to end${v.list('jobs').length > 0 ? `: ${v.list('jobs').join(', ')}` : ''}` +
    `${v.has('others') ? ' and others' : ''}.`,
  job_waits_for_slot: (v) => {
    const turns = v.has('fair_by')
      ? `Queue “${v.text('queue')}” takes turns by ${v.text('fair_by')}. `
      : ''
    const taken =
      v.number('slots') === 1
        ? 'the only slot of the nodes that run it is taken'
        : `all ${v.count('slots')} slots of the nodes that run it are taken`
    if (!v.has('ahead')) return `${turns}It is the next one, but ${taken}.`
    const first = ahead(v)
    const start = `${turns}${first.charAt(0).toUpperCase()}${first.slice(1)}`
    if (!v.has('free')) return `${start}, and ${taken}.`
    return `${start}, and ${plural(v.number('free'), 'slot is', 'slots are')} free.`
  },
  everything_paused: () => 'Everything is paused.',
  reckoned_by_free_slot: () => 'a slot is free',
  reckoned_by_limit: () => 'the rate of the limit',
  reckoned_by_pace: (v) =>
    `${v.has('at_least') ? 'at least; ' : ''}${rounded(v)} such jobs ended a minute lately`,
  reckoned_by_plan: () => 'the planned time; later if no slot is free then',
  until_job_ends: () => 'a running job ends',
  until_jobs_end: (v) =>
    `running jobs end: it needs ${v.text('needed')} of ${v.text('allowed')}, and ${v.text('free')} ${v.number('free') === 1 ? 'is' : 'are'} free`,
  until_moment: (v) => `${v.moment('at')} at least`,

  clock_set_back: (v) =>
    `The clock of the database was set back; ${
      v.has('intervals')
        ? 'intervals wait for their next start'
        : 'schedules wait, as earlier times are decided'
    }: ${v.list('named').join(', ')}${more(v)}.`,
  due_work: (v) =>
    `${plural(v.number('jobs'), 'due job')} of type “${v.text('type')}” in queue “${v.text('queue')}” (the oldest for ${v.length('seconds')}) ${v.number('jobs') === 1 ? 'waits' : 'wait'}` +
    (v.has('awaited')
      ? `, for the end of ${v.count('awaited')} of which groups or other jobs wait`
      : ''),
  everything_paused_since: (v) =>
    `Everything has been paused since ${v.moment('since')}${byWhom(v)}: no job starts, and no schedule fires.`,
  hooks_left: (v) =>
    `Ended jobs of type “${v.text('type')}”: ${[
      v.has('to_delete') ? `${v.count('to_delete')} wait to be deleted` : '',
      v.has('owed') ? `${v.count('owed')} wait for a hook` : '',
    ]
      .filter(Boolean)
      .join(' and ')}, and no live node knows the type.`,
  limit_late: (v) =>
    `Limit “${v.text('limit')}” holds back ${plural(v.number('jobs'), 'job')} for long: one has been due for ${v.length('seconds')}.`,
  many: (v) => `${v.list('first').join(' ')} And ${v.count('more')} more.`,
  more_schedules_paused: (v) => `${plural(v.number('count'), 'more is', 'more are')} paused.`,
  node_dead: (v) => `${dead(v)}.`,
  node_dead_unrescued: (v) => `${dead(v)}, and no live node rescues them.`,
  node_died: (v) =>
    `Node “${v.text('node')}” (pid ${v.text('pid')} on ${v.text('host')}) has died; ${v.text('fate')}.`,
  nodes_without_scheduler: (v) =>
    `${plural(v.number('schedules'), 'enabled schedule')}, and no live node has the role scheduler, so none will start.`,
  nodes_without_worker: (v) =>
    `${plural(v.number('nodes'), 'node')} alive, and none has the role worker, so no job runs.`,
  nothing_claimed: (v) =>
    `${plural(v.number('jobs'), 'job')} due in queue “${v.text('queue')}” and ${plural(v.number('free'), 'slot')} free for them, but nothing was claimed in ${v.length('seconds')}.`,
  queue_late: (v) =>
    `Queue “${v.text('queue')}” is behind: a job has been due for ${v.length('seconds')}, and ${plural(v.number('jobs'), 'job waits', 'jobs wait')} for long.`,
  queue_paused_since: (v) =>
    `Queue “${v.text('queue')}” has been paused since ${v.moment('since')}${byWhom(v)}; ${plural(v.number('jobs'), 'job waits', 'jobs wait')}.`,
  rows_unreadable: (v) =>
    `${plural(v.number('rows'), 'row')} of ${v.text('table')} cannot be read, so lists and nodes skip ${v.number('rows') === 1 ? 'it' : 'them'}.`,
  schedule_failing: (v) =>
    `“${v.text('schedule')}” keeps failing: ${plural(v.number('failures'), 'failure')} in a row.`,
  schedule_gave_up: (v) =>
    `“${v.text('schedule')}” is disabled, because its retries are used up: ${plural(v.number('failures'), 'failure')} in a row.`,
  schedule_missed: (v) =>
    `“${v.text('schedule')}” has missed ${v.number('runs') === 1 ? 'a run' : `${v.count('runs')} runs`}, the first due at ${v.moment('at')} (${v.text('reason')}).`,
  schedule_overdue: (v) =>
    `“${v.text('schedule')}” should have started ${v.length('seconds')} ago but has not${v.has('without_node') ? ': no node fires schedules' : ''}.`,
  schedule_paused_since: (v) =>
    `“${v.text('schedule')}” has been paused${v.has('since') ? ` since ${v.moment('since')}` : ''}${byWhom(v)}.`,
  schedule_until: (v) => `“${v.text('schedule')}” until ${v.moment('at')}`,
  schedules_type_unknown: (v) =>
    `${plural(v.number('schedules'), 'schedule')} for jobs of type “${v.text('type')}”, which no live node knows${knownHere(v)}.`,
  schema_newer: (v) =>
    `A newer version has migrated the database (revision ${v.text('current')}; this program knows ${v.text('known')})${v.has('compatible') ? ', and its tables are compatible with this program' : ''}.`,
  schema_old: (v) =>
    `Revision ${v.list('pending').join(', ')} is pending${v.has('refused') ? ', so nodes refuse to start' : ''}.`,
  type_failing: (v) =>
    `${v.count('failed')} of ${plural(v.number('ended'), 'job')} of type “${v.text('type')}” that ended in the last hour failed.`,
  waits_in_circle: (v) =>
    `${v.list('circle').join(' → ')}: a circle of waits, in which no job will ever end.`,
  waits_take_up_limit: (v) =>
    `Job ${v.text('job')} cannot start: ${
      v.has('limit')
        ? `limit “${v.text('limit')}”`
        : `the limit of its queue, ${v.count('most')} at a time,`
    } is taken up by bodies that wait (${v.list('jobs').join(', ')}${v.has('others') ? ' and others' : ''}).`,
  work_queue_unserved: (v) =>
    `${v.text('work')}: no live node that knows the type serves this queue.`,
  work_type_unknown: (v) => `${v.text('work')}: no live node knows this type${knownHere(v)}.`,
  work_unsent: (v) => `${v.text('work')}: a backend runs them, and no node has sent it a message.`,
  work_without_node: (v) => `${v.text('work')}, and no node runs.`,
  work_without_worker: (v) => `${v.text('work')}, and no node runs jobs: none has the role worker.`,
  fate_no_job: () => 'it held no job',
  fate_of_jobs: (v) => `it held ${plural(v.number('count'), 'job')}: ${v.list('parts').join(', ')}`,
  fate_part: (v) => `${v.count('count')} ${FATES[v.text('state')] ?? v.text('state')}`,
  death_by_lock: () => 'its lock is free',
  death_by_lock_and_silence: (v) =>
    `its lock is free and it has been silent for ${v.length('seconds')}`,
  death_by_process: () => 'its process is gone',
  death_by_silence: (v) => `it has been silent for ${v.length('seconds')}`,

  do_add_slots: () =>
    'Add slots: start a node, or raise --concurrency; or look at what fills them.',
  do_cancel_a_wait: () =>
    'Cancel one of these jobs; then start what waits after the others: `after`, or a group with `then`.',
  do_check_broker: () =>
    'Run a node or a Celery worker of the application that names this backend, and check its broker.',
  do_list_schedules: () => 'See the schedules.',
  do_look_at_failures: (v) => `Look at what fails: \`horae errors --type ${v.text('type')}\`.`,
  do_migrate: () => 'Run `horae migrate up`.',
  do_migrate_file: () =>
    'No action needed: the next start migrates a SQLite file. To migrate it now, run `horae migrate up`.',
  do_nothing_jobs_move: () => 'No action needed: a live node takes over its jobs within seconds.',
  do_nothing_row_goes: () =>
    'No action needed: the next node that starts removes it from the list.',
  do_raise_limit: () => 'Raise the limit, if what it protects can take more.',
  do_read_last_lines: () => 'Look for its last log lines: was it killed, or out of memory?',
  do_read_logs: () => 'Read the logs of the nodes: they cannot start schedules, or cannot keep up.',
  do_read_logs_of_queue: () => 'Read the logs of the nodes that serve this queue.',
  do_repair_rows: () => '`horae doctor` names them and says why. Repair or delete them with SQL.',
  do_replace_program: () => 'Replace this program by the newer version when convenient.',
  do_resume_everything: () => 'To continue, run `horae resume --all`.',
  do_resume_queue: (v) => `To continue, run \`horae queues resume ${v.text('queue')}\`.`,
  do_resume_schedule: (v) => `To continue, run \`horae schedules resume ${v.text('id')}\`.`,
  do_run_declaring_node: () =>
    'Run a node of the application that declares it, or cancel the jobs if the type is gone.',
  do_run_or_clean: (v) =>
    `Run a node of the application that declares it; if the type is gone, \`horae jobs clean --unknown ${v.text('type')}\` deletes them.`,
  do_run_or_delete_schedules: () =>
    'Run a node of the application that declares it, or delete the schedules if the type is gone.',
  do_run_schedule: (v) => `\`horae schedules run ${v.text('id')}\` starts a run now.`,
  do_see_errors: (v) => `See \`horae schedules errors ${v.text('id')}\`.`,
  do_see_errors_and_resume: (v) =>
    `See \`horae schedules errors ${v.text('id')}\`, fix the cause, then run \`horae schedules resume ${v.text('id')}\`.`,
  do_serve_queue: (v) => `Run a node with --queues ${v.text('queue')}, or without --queues.`,
  do_set_clock: () =>
    'Set the clock right, or wait; `horae schedules run NAME` starts a run in the meantime.',
  do_start_node: () => 'Start one: `horae run module:attribute`.',
  do_start_node_for_intervals: () =>
    'A node pulls their next starts in within seconds: start one, `horae run module:attribute`.',
  do_start_scheduler: () => 'Start one: `horae run module:attribute --roles scheduler`.',
  do_start_worker: () => 'Start one: `horae run module:attribute --roles worker`.',
  do_upgrade_program: () => 'Upgrade this program.',

  clocks_follow_wall: () => 'It follows the wall clock: nothing in a gap, both passes of a fold.',
  clocks_in_gap_and_fold: (v) =>
    `A time in a gap fires ${v.text('gap') === 'shift' ? 'at the first moment after the gap' : 'not at all'}, ` +
    `a time in a fold ${v.text('fold') === 'both' ? 'in both passes' : `in the ${v.text('fold')} pass`}.`,
  times_left_out: (v) =>
    `${wall(v)} ${v.list('wall').length === 1 && !v.has('more_wall') ? 'is' : 'are'} left out: ${runs(v)}`,
  times_twice: (v) =>
    `${wall(v)} ${v.list('wall').length === 1 && !v.has('more_wall') ? 'comes' : 'come'} twice: ${runs(v)}`,

  cron_characters: (v) =>
    `it has ${v.count('count')} characters, at most ${v.count('most')} are allowed`,
  cron_field: (v) =>
    `${v.text('field')} “${v.text('text')}”: ${v.text('problem')}, expected ${v.text('allowed')}${hint(v)}`,
  cron_fields: (v) => plural(v.number('count'), 'field'),
  cron_item: (v) => `“${v.text('item')}” is not one of *, */n, n, n-m, n/n, n-m/n`,
  cron_names: () => 'names are not supported',
  cron_never: (v) =>
    `“${v.text('text')}” can never fire, expected a date that exists from ${v.text('first')} to ${v.text('last')}${hint(v)}`,
  cron_never_again: (v) => `“${v.text('text')}” can never fire again${hint(v)}`,
  cron_out_of_range: (v) => `${v.has('number') ? v.text('number') : 'the number'} is out of range`,
  cron_range_reversed: (v) => `the range ${v.text('range')} ends before it begins`,
  cron_step_too_long: (v) =>
    `the step is longer than the field, which has ${v.text('size')} values`,
  cron_step_zero: () => 'a step of 0 never moves',
  cron_whole: (v) =>
    `cron expression ${v.text('text')}: ${v.text('problem')}, expected 5 fields (minute hour day month weekday), 6 (second first) or 7 (year last)${hint(v)}`,
  cron_words: () => 'words with @ are not supported',
  deployment_missing: (v) => `Deployment “${v.text('deployment')}” does not exist.`,
  group_missing: (v) => `Group ${v.text('group')} does not exist.`,
  group_not_cancellable: (v) =>
    `Group ${v.text('group')} cannot be cancelled: all of its jobs have ended.`,
  job_missing: (v) => `Job ${v.text('job')} does not exist.`,
  job_not_cancellable: (v) =>
    `Job ${v.text('job')} cannot be cancelled: it has ${v.text('state')}.`,
  job_not_deletable: (v) =>
    ['pending', 'started'].includes(v.text('state'))
      ? `Job ${v.text('job')} cannot be deleted while it is ${v.text('state')}; cancel it and wait for its body to stop.`
      : v.text('state') === 'being deleted'
        ? `Job ${v.text('job')} is being deleted by another caller.`
        : `Job ${v.text('job')} cannot be deleted yet: its body has not stopped.`,
  job_not_reschedulable: (v) =>
    `Job ${v.text('job')} cannot be rescheduled: it is ${v.text('state')}, not pending.`,
  job_not_retryable: (v) =>
    `Job ${v.text('job')} cannot be retried: it is ${v.text('state')}, not failed or cancelled.`,
  job_retried_already: (v) =>
    `Job ${v.text('job')} cannot be retried: job ${v.text('repetition')} has repeated it and did not finish either; retry that one.`,
  max_job_count: (v) =>
    `“${v.text('owner')}” already has ${plural(v.number('most'), 'pending or running job')} of type “${v.text('type')}”, the most it allows.`,
  schedule_changed: (v) =>
    `Schedule “${v.text('schedule')}” has been changed since you read it: read it again, then decide.`,
  schedule_declared: (v) =>
    `Schedule “${v.text('schedule')}” is declared by module “${v.text('module')}”: change its code and deploy, or pause it.`,
  schedule_exists: (v) =>
    `schedule “${v.text('schedule')}” already exists; alter it, or choose another name`,
  schedule_missing: (v) => `Schedule “${v.text('schedule')}” does not exist.`,
  schedule_running: (v) => `Schedule “${v.text('schedule')}” is running as job ${v.text('job')}.`,
}

const FATES: Readonly<Record<string, string>> = {
  pending: 'to run again',
  started: 'running again',
}

function by(v: SentenceValues): string {
  return v.has('by') ? ` by “${v.text('by')}”` : ''
}

function byWhom(v: SentenceValues): string {
  return `${v.has('by') ? ` by ${v.text('by')}` : ''}${v.has('note') ? ` (${v.text('note')})` : ''}`
}

function ahead(v: SentenceValues): string {
  const least = v.has('ahead_is_least') ? 'at least ' : ''
  return `${least}${plural(v.number('ahead'), 'job comes', 'jobs come')} before it`
}

function progress(v: SentenceValues): string {
  return `${v.number('percentage')}%${v.has('label') ? `, “${v.text('label')}”` : ''}`
}

function rounded(v: SentenceValues): string {
  return rateText(v.number('per_minute'))
}

function more(v: SentenceValues): string {
  return v.has('more') ? ` and ${v.count('more')} more` : ''
}

function dead(v: SentenceValues): string {
  return `Node ${v.text('id')} (${v.text('node')}, pid ${v.text('pid')}) is dead: ${v.text('cause')}; it holds ${plural(v.number('jobs'), 'job')}`
}

function knownHere(v: SentenceValues): string {
  return v.has('known_here') ? ', but this application does' : ''
}

function wall(v: SentenceValues): string {
  return `${v.list('wall').join(', ')}${v.has('more_wall') ? ` and ${v.count('more_wall')} more` : ''}`
}

function runs(v: SentenceValues): string {
  const known = v.list('runs')
  if (known.length === 0) return 'no run'
  const others = v.has('more_runs') ? ` and ${v.count('more_runs')} more` : ''
  return `${plural(known.length + v.number('more_runs'), 'run')}, at ${known.join(', ')}${others}`
}

function hint(v: SentenceValues): string {
  if (v.has('instead')) return `; write ${v.text('instead')}`
  return v.has('hint') ? `; ${v.text('hint')}` : ''
}
