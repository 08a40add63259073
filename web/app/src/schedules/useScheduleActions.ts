import { useRouter, type Router } from 'vue-router'

import { schedules, type BackfillRange, type Schedule } from '@/api/schedules'
import { errorText, notify, perform } from '@/notices/notices'
import { texts } from '@/texts/texts'

export interface ScheduleActions {
  readonly pause: (schedule: Schedule, note: string | null) => Promise<void>
  readonly resume: (schedule: Schedule) => Promise<void>
  readonly reset: (schedule: Schedule) => Promise<void>
  readonly skipNext: (schedule: Schedule) => Promise<void>
  readonly undoSkip: (schedule: Schedule) => Promise<void>
  readonly runNow: (schedule: Schedule) => Promise<void>
  readonly backfill: (schedule: Schedule, range: BackfillRange) => Promise<void>
  readonly undoBackfill: (schedule: Schedule) => Promise<void>
  readonly delete: (schedule: Schedule) => Promise<void>
}

/** Return the actions on a schedule. `onChange` is called after each action that succeeded. */
export function useScheduleActions(onChange: () => void): ScheduleActions {
  const router = useRouter()
  const done = () => texts.value.schedules.done

  async function act<T>(
    action: () => Promise<T>,
    message: string | ((result: T) => string),
  ): Promise<void> {
    if (await perform(action, message)) onChange()
  }

  return {
    pause: (schedule, note) =>
      act(() => schedules.pause(schedule.id, note), done().paused(schedule.name)),
    resume: (schedule) => act(() => schedules.resume(schedule.id), done().resumed(schedule.name)),
    reset: (schedule) => act(() => schedules.reset(schedule.id), done().reset(schedule.name)),
    skipNext: (schedule) => act(() => schedules.skipNext(schedule.id), done().skips(schedule.name)),
    undoSkip: (schedule) => act(() => schedules.undoSkip(schedule.id), done().runs(schedule.name)),
    backfill: (schedule, range) =>
      act(
        () => schedules.backfill(schedule.id, range),
        ({ added }) => done().backfilled(schedule.name, added),
      ),
    undoBackfill: (schedule) =>
      act(
        () => schedules.undoBackfill(schedule.id),
        ({ removed }) => done().notBackfilled(schedule.name, removed),
      ),
    delete: async (schedule) => {
      const { name } = schedule
      if (!(await perform(() => schedules.delete(schedule.id), done().deleted(name)))) return
      await router.push({ name: 'schedules' })
    },
    runNow: (schedule) => runNow(schedule, router),
  }
}

/** Start a run and show its job. */
async function runNow(schedule: Schedule, router: Router): Promise<void> {
  try {
    const { id } = await schedules.runNow(schedule.id)
    notify('done', texts.value.schedules.done.started(schedule.name, id))
    await router.push({ name: 'job', params: { id } })
  } catch (error) {
    notify('failed', errorText(error))
  }
}
