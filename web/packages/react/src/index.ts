export * from '@horae/client'
export { ProgressBar, type ProgressBarProps } from './components/ProgressBar'
export { ProgressCircle, type ProgressCircleProps } from './components/ProgressCircle'
export { useJob, type UseJobOptions, type UseJobReturn } from './hooks/useJob'
export { useJobEnds } from './hooks/useJobEnds'
export { useJobs } from './hooks/useJobs'
export { useJobStore, useStatus } from './hooks/useJobStore'
export {
  HoraeProvider,
  useHorae,
  type HoraeContextValue,
  type HoraeProviderProps,
} from './store/context'
export { createHorae, type Horae, type HoraeOptions } from './store/horae'
