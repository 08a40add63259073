import { onScopeDispose, readonly, shallowRef, type Ref } from 'vue'

const now = shallowRef(Date.now())
const readonlyNow = readonly(now)
let users = 0
let timer: ReturnType<typeof setInterval> | undefined

function tick(): void {
  if (!document.hidden) now.value = Date.now()
}

/**
 * Return the current time in milliseconds, updated each second while the page is visible. All users share one timer.
 */
export function useNow(): Readonly<Ref<number>> {
  users += 1
  tick()
  timer ??= setInterval(tick, 1000)
  onScopeDispose(() => {
    users -= 1
    if (users > 0) return
    clearInterval(timer)
    timer = undefined
  })
  return readonlyNow
}
