import { defineComponent, markRaw, type Raw } from 'vue'

import type { Job } from '../api/model'
import type { UseJobOptions, UseJobReturn } from '../composables/jobHandle'
import { useJob } from '../composables/useJob'

/** What a component of the Options API may define beside the mixin; each end is told once. */
export type JobMixinCallbacks = UseJobOptions

/** `useJob` for components of the Options API: one job a component. */
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

/** The callbacks that the component has when they are needed, called as its methods. */
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
