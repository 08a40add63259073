import { describe, expect, it } from 'vitest'
import { createApp } from 'vue'

import { ProgressBar } from '../src'

function bar(props: object) {
  const element = document.createElement('div')
  createApp(ProgressBar, { ...props }).mount(element)
  const fill = element.querySelector<HTMLElement>('.horae-progress__bar')
  return {
    element,
    fill,
    role: element.querySelector('[role=progressbar]'),
    text: element.textContent,
  }
}

describe('the progress bar', () => {
  it('shows a rounded percentage and the state as text', () => {
    const { text, fill, role } = bar({ value: 33.4, status: 'Importing' })
    expect(text).toBe('33% · Importing')
    expect(fill?.style.width).toBe('33.4%')
    expect(role?.getAttribute('aria-valuenow')).toBe('33')
    expect(role?.getAttribute('aria-valuetext')).toBe('33% Importing')
    expect(role?.getAttribute('aria-label')).toBe('Progress')
  })

  it('can hide the number', () => {
    expect(bar({ value: 5, showValue: false }).text).toBe('')
    expect(bar({ value: 5, status: 'Soon', showValue: false }).text).toBe('Soon')
  })

  it('stays within its track by default', () => {
    expect(bar({ value: 130 }).fill?.style.width).toBe('100%')
    expect(bar({ value: -5 }).fill?.style.width).toBe('0%')
    expect(bar({ value: 130 }).role?.getAttribute('aria-valuenow')).toBe('100')
  })

  it('extends beyond its track and warns above 100 with showOverflow', () => {
    const { fill } = bar({ value: 130, showOverflow: true })
    expect(fill?.style.width).toBe('130%')
    expect(fill?.classList).toContain('horae-progress__bar--over')
    expect(bar({ value: 99, showOverflow: true }).fill?.classList).not.toContain(
      'horae-progress__bar--over',
    )
  })

  it.each([
    [0, true],
    [1, false],
    [99, false],
    [100, true],
  ])('at %i changes without animation: %s', (value, notAnimated) => {
    expect(bar({ value }).fill?.classList.contains('horae-progress__bar--still')).toBe(notAnimated)
  })
})
