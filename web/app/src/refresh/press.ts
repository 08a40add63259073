/** The longest press, in milliseconds: a browser does not tell of every release, as of one on a scroll bar. */
const LONGEST = 3000
/** Milliseconds within which a click follows the release of its pointer. */
const CLICK_AFTER = 50

let press: Promise<void> | null = null

addEventListener(
  'pointerdown',
  ({ isPrimary, button }) => {
    if (isPrimary && button === 0) press ??= untilReleased().then(() => void (press = null))
  },
  { capture: true },
)

function untilReleased(): Promise<unknown> {
  return new Promise((resolve) => {
    const release = (): void => void setTimeout(resolve, CLICK_AFTER)
    const once = { capture: true, once: true }
    addEventListener('pointerup', release, once)
    addEventListener('pointercancel', release, once)
    setTimeout(resolve, LONGEST)
  })
}

/**
 * Wait until no pointer is pressed. What is shown must not change before: a link that moves between the press and the
 * release is not followed.
 */
export async function pressEnded(): Promise<void> {
  while (press !== null) await press
}
