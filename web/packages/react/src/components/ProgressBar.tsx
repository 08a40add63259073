import type { ReactElement } from 'react'

import { useMessages } from '../store/context'

export interface ProgressBarProps {
  /** The progress in percent. */
  readonly value: number
  /** A text that describes the state of the work. */
  readonly status?: string
  readonly showValue?: boolean
  /** Above 100 percent, extend the bar beyond its track and show it in the warning colour. */
  readonly showOverflow?: boolean
  /** Whether the work has failed: the bar has the failed colour. */
  readonly failed?: boolean
  /** The accessible name of the bar; "Progress" by default. */
  readonly label?: string
}

export function ProgressBar(props: ProgressBarProps): ReactElement {
  const { value, status = '', showValue = true, showOverflow = false, label } = props
  const messages = useMessages()
  const percent = Math.round(value)
  const percentText = messages.percent(percent)
  const width = Math.max(0, showOverflow ? value : Math.min(value, 100))
  const text = [showValue ? percentText : '', status].filter(Boolean).join(' · ')
  return (
    <div className="horae-progress">
      <div
        className="horae-progress__track"
        role="progressbar"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-label={label ?? messages.progress}
        aria-valuenow={Math.min(100, Math.max(0, percent))}
        aria-valuetext={`${percentText} ${status}`.trim()}
      >
        <div className={barClass(props)} style={{ width: `${width}%` }} />
      </div>
      {text && <div className="horae-progress__text">{text}</div>}
    </div>
  )
}

function barClass({ value, showOverflow, failed }: ProgressBarProps): string {
  // A bar that is reset or complete must change at once, without the animation.
  const still = value <= 0 || value >= 100 ? ' horae-progress__bar--still' : ''
  const over = showOverflow && value > 100 ? ' horae-progress__bar--over' : ''
  return `horae-progress__bar${still}${over}${failed ? ' horae-progress__bar--failed' : ''}`
}
