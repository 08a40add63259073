import { useRouter } from 'vue-router'

import { schedules, type BackfillRange, type Schedule } from '@/api/schedules'
import { plural } from '@/format/number'
import { errorText, notify, perform } from '@/notices/notices'

export interface ScheduleActions {
  readonly pause: (schedule: Schedule, note: string | null) => Promise<void>
  readonly resume: (schedule: Schedule) => Promise<void>
  readonly reset: (schedule: Schedule) => Promise<void>
  readonly skipNext: (schedule: Schedule) => Promise<void>
  readonly undoSkip: (schedule: Schedule) => Promise<void>
  readonly runNow: (schedule: Schedule) => Promise<void>
  readonly backfill: (schedule: Schedule, range: BackfillRange) => Promise<void>
  readonly undoBackfill: (schedule: Schedule) => Promise<void>
}

/** Return the actions on a schedule. `onChange` is called after each action that succeeded. */
export function useScheduleActions(onChange: () => void): ScheduleActions {
  const router = useRouter()

  async function act<T>(
    action: () => Promise<T>,
    message: string | ((result: T) => string),
  ): Promise<void> {
    if (await perform(action, message)) onChange()
  }

  return {
    pause: (schedule, note) =>
      act(() => schedules.pause(schedule.id, note), `${schedule.name} paused.`),
    resume: (schedule) => act(() => schedules.resume(schedule.id), `${schedule.name} resumed.`),
    reset: (schedule) =>
      act(() => schedules.reset(schedule.id), `${schedule.name} is as it is declared.`),
    skipNext: (schedule) =>
      act(() => schedules.skipNext(schedule.id), `${schedule.name} skips its next time.`),
    undoSkip: (schedule) =>
      act(() => schedules.undoSkip(schedule.id), `${schedule.name} runs at its next time.`),
    backfill: (schedule, range) =>
      act(
        () => schedules.backfill(schedule.id, range),
        ({ added }) => `${schedule.name} runs for ${plural(added, 'past time')}.`,
      ),
    undoBackfill: (schedule) =>
      act(
        () => schedules.undoBackfill(schedule.id),
        ({ removed }) => `${plural(removed, 'past time')} of ${schedule.name} will not be run.`,
      ),
    runNow: async (schedule) => {
      try {
        const { id } = await schedules.runNow(schedule.id)
        notify('done', `${schedule.name} started job ${id}.`)
        await router.push({ name: 'job', params: { id } })
      } catch (error) {
        notify('failed', errorText(error))
      }
    },
  }
}
