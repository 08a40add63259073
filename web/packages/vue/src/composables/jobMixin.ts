import type { Job } from '@horae/client'
import { defineComponent, markRaw, type Raw } from 'vue'

import type { UseJobOptions, UseJobReturn } from './jobHandle'
import { useJob } from './useJob'

/** The methods that a component with the mixin may define. Each callback is called once per job. */
export type JobMixinCallbacks = UseJobOptions

/** `useJob` for components of the Options API, with one job per component. */
export const jobMixin = defineComponent({
  data(): { jobHandle: Raw<UseJobReturn> } {
    return { jobHandle: markRaw(useJob(null, callbacksOf(this))) }
  },
  computed: {
    job(): Job | null {
      return this.jobHandle.job.value
    },
    jobIsRunning(): boolean {
      return this.jobHandle.jobIsRunning.value
    },
    jobIsFinished(): boolean {
      return this.jobHandle.jobIsFinished.value
    },
    jobIsEnded(): boolean {
      return this.jobHandle.jobIsEnded.value
    },
    jobHasFailed(): boolean {
      return this.jobHandle.jobHasFailed.value
    },
    jobIsGone(): boolean {
      return this.jobHandle.jobIsGone.value
    },
    jobHumanReadableState(): string {
      return this.jobHandle.jobHumanReadableState.value
    },
    cancelLoading(): boolean {
      return this.jobHandle.cancelLoading.value
    },
  },
  methods: {
    createAndMonitorJob(job: Job): void {
      this.jobHandle.createAndMonitorJob(job)
    },
    async cancelJob(): Promise<void> {
      await this.jobHandle.cancelJob()
    },
  },
})

/** Return callbacks that call the component's methods, which are looked up at the time of the call. */
function callbacksOf(component: object): UseJobOptions {
  const methods = component as UseJobOptions
  return {
    onJobFinished: (job) => methods.onJobFinished?.(job),
    onJobFailed: (job) => methods.onJobFailed?.(job),
    onJobCancelled: (job) => methods.onJobCancelled?.(job),
    onJobGone: (job) => methods.onJobGone?.(job),
    onJobCancelFailed: (error) => methods.onJobCancelFailed?.(error),
    showError: (error) => methods.showError?.(error),
    labelText: (label, job) => methods.labelText?.(label, job),
  }
}
