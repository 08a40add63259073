import { useEffect, useRef, type RefObject } from 'react'

/** Return a reference to the latest value, for callbacks that are called after a later rendering than theirs. */
export function useLatest<Value>(value: Value): Readonly<RefObject<Value>> {
  const latest = useRef(value)
  useEffect(() => {
    latest.current = value
  })
  return latest
}
