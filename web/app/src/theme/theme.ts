import { shallowRef, watch } from 'vue'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'horae.theme'

export function parseTheme(text: string | null): Theme {
  return THEMES.find((theme) => theme === text) ?? 'system'
}

/** The selected theme. `system` follows the operating system. */
export const theme = shallowRef<Theme>(parseTheme(localStorage.getItem(KEY)))

/** Apply the selected theme to the page, now and after each change. */
export function applyTheme(root: HTMLElement = document.documentElement): void {
  watch(
    theme,
    (chosen) => {
      localStorage.setItem(KEY, chosen)
      if (chosen === 'system') delete root.dataset['theme']
      else root.dataset['theme'] = chosen
    },
    { immediate: true },
  )
}

/**
 * Call `listener` when the user or the operating system may have changed the theme. Returns a function that removes
 * it.
 */
export function onThemeChange(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  system.addEventListener('change', listener)
  const stop = watch(theme, listener, { flush: 'post' })
  return () => {
    system.removeEventListener('change', listener)
    stop()
  }
}
