import type { ReactElement } from 'react'

import { useMessages } from '../store/context'
import type { ProgressBarProps } from './ProgressBar'

export type ProgressCircleProps = Omit<ProgressBarProps, 'showOverflow'>

/** The circumference in the units of the view box is 100, so that a percentage is a length. */
const RADIUS = 15.915

export function ProgressCircle(props: ProgressCircleProps): ReactElement {
  const { value, status = '', showValue = true, failed, label } = props
  const messages = useMessages()
  const shown = Math.max(0, Math.min(100, value))
  const percent = Math.round(shown)
  const percentText = messages.percent(percent)
  const still = shown >= 100 ? ' horae-circle__bar--still' : ''
  return (
    <div className="horae-circle">
      <svg
        viewBox="0 0 36 36"
        role="progressbar"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-label={label ?? messages.progress}
        aria-valuenow={percent}
        aria-valuetext={`${percentText} ${status}`.trim()}
      >
        <circle className="horae-circle__track" cx="18" cy="18" r={RADIUS} />
        {shown > 0 && (
          <circle
            className={`horae-circle__bar${still}${failed ? ' horae-circle__bar--failed' : ''}`}
            cx="18"
            cy="18"
            r={RADIUS}
            strokeDasharray={`${shown} 100`}
          />
        )}
        {showValue && (
          <text className="horae-circle__value" x="18" y="18" aria-hidden="true">
            {percentText}
          </text>
        )}
      </svg>
      {status && <div className="horae-circle__text">{status}</div>}
    </div>
  )
}
